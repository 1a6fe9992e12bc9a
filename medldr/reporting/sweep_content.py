"""What the report of a sweep says, before it is a page, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from medldr.errors import did_you_mean
from medldr.evaluation.metrics import DEFINITIONS
from medldr.members import SweepFolder
from medldr.reporting import compare_tables, sweep_tables
from medldr.reporting.compare_figures import difference_figure, has_difference, overlay_figures
from medldr.reporting.comparison import interval_words
from medldr.reporting.figures import Drawing
from medldr.reporting.grid import Grid, grid_table, make_grid
from medldr.reporting.measures import ALIASES, MEASURES
from medldr.reporting.sweep_published import published_tables
from medldr.reporting.sweep_results import Column, columns, splits
from medldr.reporting.sweep_source import Study, read_study
from medldr.reporting.sweep_verdict import verdict
from medldr.reporting.tables import Table

CALIBRATION = ("ece", "brier", "nll")
DEFAULT_METRICS = ("accuracy", "auc")


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


@dataclass
class SweepContent:
    """The whole report.

    Attributes:
        study: The sweep as it was read.
        columns: Its columns as they were compared.
        metrics: Measures that have a grid, the foremost first.
        splits: Splits that were judged, the test split first.
        grids: One per measure and split.
        banners: (kind, text) above everything.
        sections: From top to bottom.
    """

    study: Study
    columns: list[Column]
    metrics: list[str]
    splits: list[str]
    grids: list[Grid]
    banners: list[tuple[str, str]]
    sections: list[Section]

    @property
    def title(self) -> str:
        """Title of the report."""
        return self.study.layout.title

    @property
    def subtitle(self) -> str:
        """Its size in words."""
        done = sum(entry.run is not None for entry in self.study.entries)
        parts = [
            _count(len(self.study.rows), "method"),
            _count(len(self.columns), "set"),
            f"{done} of {_count(len(self.study.entries), 'run')} with a result",
        ]
        return f"{', '.join(parts)}; differences are to {self.study.reference}"

    def section(self, anchor: str) -> Section | None:
        """A section by its anchor; None where it has nothing to show."""
        return next((s for s in self.sections if s.anchor == anchor), None)


def sweep_content(folder: SweepFolder) -> SweepContent:
    """Read a sweep, compare its columns, and lay the report out.

    Raises:
        InputError: If the folder holds no runs, or its `sweep.json` is damaged.
    """
    study = read_study(folder)
    found = columns(study)
    there = splits(found)
    metrics, notes = _metrics(study, found)
    grids = [make_grid(study, found, m, s) for s in there for m in metrics]
    notes = [*study.notes, *notes, *(note for column in found for note in column.notes)]
    sections = [
        _result(study, found, metrics, there, grids),
        _missing(study, found),
        Section("notes", "What to know about these numbers", "Notes", leads=notes),
        _differences(study, found, metrics, there),
        _classes(study, found, there),
        _calibration(study, found, there),
        _domains(found),
        _published(study, found),
        _curves(study, found),
        _runs(study, found),
        _glossary(metrics),
    ]
    shown = [section for section in sections if not section.empty]
    return SweepContent(study, found, metrics, there, grids, _banners(study, found), shown)


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _metrics(study: Study, found: Sequence[Column]) -> tuple[list[str], list[str]]:
    """The measures asked for that were computed, and a note on every other one."""
    there = {row["metric"] for column in found for row in (column.result or {}).get("rows", ())}
    named = {metric.rsplit("/", 1)[-1]: None for metric in study.layout.metrics}
    asked = list(dict.fromkeys(ALIASES.get(key, key) for key in named)) or list(DEFAULT_METRICS)
    known = [metric for metric in asked if metric in there]
    notes = [
        f"There is no measure {metric!r}, which the sweep asks for.{did_you_mean(metric, there)}"
        for metric in asked
        if there and metric not in there
    ]
    return known or list(DEFAULT_METRICS), notes


def _result(
    study: Study,
    found: Sequence[Column],
    metrics: Sequence[str],
    there: Sequence[str],
    grids: Sequence[Grid],
) -> Section:
    words = interval_words(next((c.result for c in found if c.result is not None), {}))
    if len(found) > 1:
        words += (
            " The average is the plain mean over the sets, of rows that have every run in all "
            "of them; it has no interval."
        )
    words += " The best number of a column is bold and the second best underlined, as printed, "
    words += "among rows that are neither controls nor chosen by an oracle."
    leads = verdict(study, found, metrics[0], there[0]) if there else []
    tables = [grid_table(grid) for grid in grids]
    if not there:
        leads = ["No run has a result yet."]
    return Section("result", "Result", "Result", leads=leads, tables=tables, small=words.strip())


def _missing(study: Study, found: Sequence[Column]) -> Section:
    table = sweep_tables.missing_table(study)
    leads = [f"{column.name} is left out: {column.problem}" for column in found if column.problem]
    return Section(
        "missing", "Runs without a result", "Missing", leads, [], [table] if table else []
    )


def _differences(
    study: Study, found: Sequence[Column], metrics: Sequence[str], there: Sequence[str]
) -> Section:
    section = Section("differences", "Paired differences", "Differences")
    section.texts.append(
        "Both methods judged the same images, so the luck of which images were drawn cancels in "
        "the difference."
    )
    for number, column in enumerate(found, 1):
        for metric in metrics if column.result is not None else ():
            if column.result is not None and has_difference(column.result, metric):
                drawing = difference_figure(column.result, metric, column.name, number)
                section.figures += [drawing] if drawing is not None else []
    shown = [column for column in found if column.result is not None]
    for split in there:
        for metric in metrics:
            for make in (sweep_tables.difference_table, sweep_tables.contrast_table):
                table = make(study, shown, metric, split)
                section.tables += [table] if table is not None else []
    return section


def _classes(study: Study, found: Sequence[Column], there: Sequence[str]) -> Section:
    section = Section("classes", "Behind the accuracy: recall of each class", "Classes")
    for column in found:
        table = sweep_tables.recall_table(study, column, there[0]) if there else None
        section.tables += [table] if table is not None else []
    return section


def _calibration(study: Study, found: Sequence[Column], there: Sequence[str]) -> Section:
    section = Section("calibration", "Behind the accuracy: calibration", "Calibration")
    section.texts.append(
        "Whether stated probabilities can be taken at their word; lower is better."
    )
    if any(column.result is not None for column in found):
        grids = [
            make_grid(study, found, metric, split) for split in there for metric in CALIBRATION
        ]
        section.tables = [grid_table(grid) for grid in grids]
    return section


def _domains(found: Sequence[Column]) -> Section:
    section = Section("domains", "Domains", "Domains")
    section.texts.append(
        "A domain is a source of images, such as a hospital or a scanner. No training image came "
        "from an unseen one. Seen minus unseen is how much is lost on the way."
    )
    for column in found:
        if column.result is None:
            continue
        for make in (compare_tables.domain_table, compare_tables.gap_table):
            table = make(column.result)
            if table is not None:
                caption = f"{column.name}: {table.caption}"
                section.tables.append(replace(table, caption=caption))
    return section


def _published(study: Study, found: Sequence[Column]) -> Section:
    section = Section("published", "Published numbers", "Published")
    section.texts.append(
        "Beside numbers that others have published for these sets. They can be compared directly "
        "only where the protocol is the same."
    )
    section.tables = published_tables(study, found)
    return section


def _curves(study: Study, found: Sequence[Column]) -> Section:
    section = Section("curves", "Learning curves", "Curves")
    for number, column in enumerate(found, 1):
        curves = {
            row: [e.source.rows for e in study.of(row, column.name) if e.source is not None]
            for row in study.rows
        }
        section.figures += overlay_figures(curves, column.name, number)
    return section


def _runs(study: Study, found: Sequence[Column]) -> Section:
    section = Section("runs", "Sets and runs", "Runs")
    section.tables.append(sweep_tables.sets_table(study, found))
    for column in found:
        if column.result is not None:
            table = compare_tables.runs_table(column.result)
            section.tables.append(replace(table, caption=f"{column.name}: {table.caption}"))
    section.small = (
        "“As reference” says whether a row followed the same protocol as the first row with a "
        "result."
    )
    return section


def _glossary(metrics: Sequence[str]) -> Section:
    keys = [*metrics, *(k for k in (*CALIBRATION, "recall") if k not in metrics)]
    pairs = [(MEASURES[k].title, MEASURES[k].meaning) for k in keys if k in MEASURES]
    pairs += [(k, DEFINITIONS[k]) for k in keys if k not in MEASURES and k in DEFINITIONS]
    return Section("glossary", "How to read the numbers", "Glossary", glossary=pairs)


def _banners(study: Study, found: Sequence[Column]) -> list[tuple[str, str]]:
    banners = [("remark", study.layout.remark)] if study.layout.remark else []
    oracles = [row for row in study.rows if study.oracle(row)]
    if oracles:
        banners.append(
            (
                "oracle",
                f"ORACLE SELECTION in {', '.join(oracles)}: weights were chosen by looking at the "
                "test split. Those numbers are upper bounds, not measurements.",
            )
        )
    missing = [entry for entry in study.entries if entry.run is None]
    if missing:
        kinds = [entry.state for entry in missing]
        told = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        text = f"{_count(len(missing), 'run')} of {len(study.entries)} without a result: {told}."
        banners.append(("warning", text))
    left_out = [column.name for column in found if column.problem]
    if left_out:
        text = f"Left out, because its runs cannot be compared: {', '.join(left_out)}."
        banners.append(("warning", text))
    cells = {(e.member.row, e.member.column) for e in study.entries if e.run is not None}
    if any(len([e for e in study.of(*cell) if e.run is not None]) == 1 for cell in cells):
        banners.append(
            (
                "warning",
                "At least one number comes from a single seed, so that nothing is known of how "
                "much it would change with another.",
            )
        )
    return banners
