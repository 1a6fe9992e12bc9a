"""The parts of a sweep's report, each from the study and its columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from medldr.evaluation.metrics.score import DEFINITIONS
from medldr.metrics import MEASURES, SPLIT_TITLES, measure
from medldr.reporting.document import Table, side_by_side
from medldr.reporting.figures.comparison import difference_figure, has_difference, overlay_figures
from medldr.reporting.figures.drawing import Drawing
from medldr.reporting.pages.comparison import interval_words
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import Grid, grid_table, make_grid
from medldr.reporting.results.held_out import left_out
from medldr.reporting.results.target_parts import TARGETS
from medldr.reporting.results.training import training_table
from medldr.reporting.sections import comparison_tables as compare_tables
from medldr.reporting.sections import sweep_tables
from medldr.reporting.sections.missing_runs import missing_table
from medldr.reporting.sections.sweep_published import published_tables
from medldr.reporting.sections.verdict import verdict

CALIBRATION = ("ece", "brier", "nll")


@dataclass
class Section:
    """A part of the report.

    Attributes:
        anchor: Its name in the page.
        title: Its heading.
        short: What stands in the navigation.
        leads: Sentences that are read first.
        texts: Other sentences.
        tables: Tables.
        figures: Figures; the page alone has them.
        small: A closing remark on how the numbers were made.
        glossary: Terms and what they mean.
    """

    anchor: str
    title: str
    short: str
    leads: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    figures: list[Drawing] = field(default_factory=list)
    small: str = ""
    glossary: list[tuple[str, str]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.leads or self.tables or self.figures or self.glossary or self.small)


@dataclass(frozen=True)
class Parts:
    """What sections are made from.

    Attributes:
        study: The sweep as it was read.
        columns: Its columns as they were compared.
        metrics: Measures that have a grid, the foremost first.
        splits: Splits that were judged, the test split first.
        grids: One per split and measure.
    """

    study: Study
    columns: Sequence[Column]
    metrics: Sequence[str]
    splits: Sequence[str]
    grids: Sequence[Grid]

    @property
    def places(self) -> list[tuple[str, str]]:
        """Every split with every measure."""
        return [(split, metric) for split in self.splits for metric in self.metrics]

    def together(self, what: str, parts: Sequence[tuple[str, str, Table | None]]) -> list[Table]:
        """Tables by split and measure; side by side where the sweep has a single column.

        Args:
            what: What the tables show, for the caption of the one table.
            parts: Split, measure and table.
        """
        found = [(split, metric, table) for split, metric, table in parts if table is not None]
        if len(self.columns) > 1 or len(found) < 2:
            return [table for _, _, table in found]
        several = len(self.splits) > 1
        headed = [
            (
                f"{measure(m).heading}, {SPLIT_TITLES.get(s, s).lower()}"
                if several
                else measure(m).heading,
                table,
            )
            for s, m, table in found
        ]
        return [side_by_side(f"{self.columns[0].name}: {what}", headed)]


def result(parts: Parts) -> Section:
    """The verdict and the grids."""
    first = next((c.result for c in parts.columns if c.result is not None), {})
    words = interval_words(first)
    sets = left_out(parts.study)
    if len(parts.columns) > 1 and len(sets) < 2:
        words += (
            f" The average is the plain mean over the {'columns' if sets else 'sets'}, of rows "
            "that have every run in all of them; it has no interval."
        )
    words += (
        " The best number of a column is bold and the second best underlined, as printed, among "
        "rows that are neither controls nor chosen by an oracle, nor have fewer runs than others."
    )
    leads = ["No run has a result yet."]
    if parts.splits:
        leads = verdict(parts.study, parts.columns, parts.metrics[0], parts.splits[0])
    tables = [(grid.split, grid.metric, grid_table(grid)) for grid in parts.grids]
    shown = parts.together("mean over seeds", tables)
    return Section("result", "Result", "Result", leads=leads, tables=shown, small=words.strip())


def missing(parts: Parts) -> Section:
    """Runs without a result, and columns that could not be compared."""
    table = missing_table(parts.study)
    leads = [f"{c.name} is left out: {c.problem}" for c in parts.columns if c.problem]
    tables = [table] if table is not None else []
    return Section("missing", "Runs without a result", "Missing", leads=leads, tables=tables)


def differences(parts: Parts) -> Section:
    """Paired differences to the reference, and the chosen pairs."""
    section = Section("differences", "Paired differences", "Differences")
    section.texts.append(
        "Both methods judged the same images, so the luck of which images were drawn cancels in "
        "the difference."
    )
    if left_out(parts.study):
        section.texts.append(
            f"On the test split they are differences on {TARGETS['target_all']}, and not on the "
            "80 % that published tables score."
        )
    for number, column in enumerate(parts.columns, 1):
        for metric in parts.metrics:
            if column.result is not None and has_difference(column.result, metric):
                drawing = difference_figure(column.result, metric, column.name, number)
                section.figures += [drawing] if drawing is not None else []
    shown = [column for column in parts.columns if column.result is not None]

    def tables(
        what: str, make: Callable[[Study, Sequence[Column], str, str], Table | None]
    ) -> list[Table]:
        found = [(s, m, make(parts.study, shown, m, s)) for s, m in parts.places]
        return parts.together(what, found)

    title = f"difference to {parts.study.reference}"
    section.tables += tables(title, sweep_tables.difference_table)
    section.tables += tables("pairs of rows, one minus the other", sweep_tables.contrast_table)
    return section


def classes(parts: Parts) -> Section:
    """Recall of each class, column by column."""
    section = Section("classes", "Behind the accuracy: recall of each class", "Classes")
    for column in parts.columns:
        if parts.splits:
            table = sweep_tables.recall_table(parts.study, column, parts.splits[0])
            section.tables += [table] if table is not None else []
    return section


def calibration(parts: Parts) -> Section:
    """Grids of calibration."""
    section = Section("calibration", "Behind the accuracy: calibration", "Calibration")
    section.texts.append(
        "Whether stated probabilities can be taken at their word: lower is better."
    )
    grids = [
        make_grid(parts.study, parts.columns, metric, split)
        for split in parts.splits
        for metric in CALIBRATION
    ]
    section.tables = parts.together(
        "calibration", [(grid.split, grid.metric, grid_table(grid)) for grid in grids]
    )
    return section


def domains(parts: Parts) -> Section:
    """Accuracy in each domain, and what is lost from seen to unseen ones."""
    section = Section("domains", "Domains", "Domains")
    section.texts.append(
        "A domain is a source of images, such as a hospital or a scanner. No training image came "
        "from an unseen one. Seen minus unseen is how much is lost on the way, from the seen split "
        "that its table names."
    )
    for column in parts.columns:
        if column.result is None:
            continue
        result = sweep_tables.controls_last(column.result, parts.study.layout.controls)
        for make in (compare_tables.domain_table, compare_tables.gap_table):
            table = make(result)
            if table is not None:
                caption = f"{column.name}: {table.caption}"
                section.tables.append(replace(table, caption=caption))
    return section


def published(parts: Parts) -> Section:
    """Published numbers beside ours."""
    section = Section("published", "Published numbers", "Published")
    section.texts.append(
        "Beside numbers that others have published for these sets. They can be compared directly "
        "only where the protocol is the same."
    )
    section.tables = published_tables(parts.study, parts.columns)
    return section


def curves(parts: Parts) -> Section:
    """Learning curves, column by column."""
    section = Section("curves", "Learning curves", "Curves")
    for number, column in enumerate(parts.columns, 1):
        found = {
            row: [e.source.rows for e in parts.study.of(row, column.name) if e.source is not None]
            for row in parts.study.rows
        }
        section.figures += overlay_figures(found, column.name, number)
    return section


def runs(parts: Parts) -> Section:
    """What stands behind columns and rows."""
    section = Section("runs", "Sets and runs", "Runs")
    section.tables.append(sweep_tables.sets_table(parts.study, parts.columns))
    for column in parts.columns:
        trained = training_table(parts.study, column)
        section.tables += [trained] if trained is not None else []
        if column.result is not None:
            table = compare_tables.runs_table(column.result)
            section.tables.append(replace(table, caption=f"{column.name}: {table.caption}"))
            section.small = (
                "“As reference” says whether a row followed the same protocol as the reference "
                "(where that has no result, the first row that has one)."
            )
    return section


def glossary(parts: Parts) -> Section:
    """What the measures mean."""
    keys = list(dict.fromkeys((*parts.metrics, *CALIBRATION, "recall")))
    pairs = [(MEASURES[k].title, MEASURES[k].meaning) for k in keys if k in MEASURES]
    pairs += [(k, DEFINITIONS[k]) for k in keys if k not in MEASURES and k in DEFINITIONS]
    return Section("glossary", "How to read the numbers", "Glossary", glossary=pairs)
