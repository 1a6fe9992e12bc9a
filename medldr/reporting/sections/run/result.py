"""The first screen of a run: one table and one figure; the terminal prints the same table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import DomainRecord, EvaluationRecord, Number, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.document import Block, Document, Drawing, Figures, Paragraph, Section
from medldr.reporting.figures.forest import Whisker, forest_figure
from medldr.reporting.prose import answered, section, sentence, words
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import (
    TESTS,
    headline,
    headline_split,
    large_domains,
    page_order,
)
from medldr.reporting.sections.rows import chance_row
from medldr.reporting.sections.run.drawn import confusion_figure, roc_figure
from medldr.reporting.sections.run.parts import Part, metrics_table, of_domain, size_cell
from medldr.reporting.sections.run.verdict import (
    PAIR,
    banners,
    guessing,
    leading,
    threshold_text,
    verdict,
)
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import rule_text, split_name

MOST_DOMAINS: Final = 6
"""With more domains the first table has those of no split; the section on domains has all."""
MOST_ROWS: Final = 5
"""The same of the terminal, for splits and domains together."""
_SHORT: Final = {"val": "Val", "id_val": "Val, seen", "id_test": "Test, seen"}


def result(scored: EvaluationRecord | None) -> Section | None:
    """The figure and the table of the first screen, and what their intervals mean."""
    if scored is None:
        return None
    figures = Figures.of(first_figure(scored)[1]())
    said = filter(None, (by_group_text(scored), intervals_text(scored)))
    small = Paragraph(" ".join(said), "small")
    return section("run", "result", figures, results_table(scored), small)


def run_overview(files: RunFiles) -> Document:
    """What the terminal shows of a run: the verdict and one table."""
    scored = files.evaluation
    tables: list[Block] = [] if scored is None else [results_table(scored, short=True)]
    sections = [Section("result", "", "", tables)]
    return Document(
        "", "", banners=banners(files), sections=sections, verdict=answered(lambda: verdict(files))
    )


def results_table(scored: EvaluationRecord, *, short: bool = False) -> Table:
    """Splits and tested domains down, the leading metrics across, guessing below.

    Args:
        scored: The evaluation.
        short: Whether it has to fit a terminal.
    """
    keys, chosen = leading(scored), scored.selection
    caption = "Results of this network"
    if chosen is not None:
        caption += f" (epoch {chosen.epoch}, {rule_text(chosen.rule, chosen.split or '')})"

    def part(name: str, of: SplitRecord | DomainRecord, seen: bool | None, style: str = "") -> Part:
        count = of.class_counts.get(scored.positive_class or "")
        mix = "" if count is None else f"{count.n:,} {scored.positive_class}"
        return Part(name, of.metrics, [size_cell(of, mix)], of.few_groups, seen, style=style)

    shown, parts = page_order(scored), []
    most = MOST_ROWS - len(shown) if short else MOST_DOMAINS
    for name, split in shown.items():
        title = _SHORT.get(name, split_name(name)) if short else split_name(name)
        parts.append(part(title, split, False if split.unseen else None, "head"))
        if split.by_group is not None:
            parts.append(part("  by group", split.by_group, None))
        if name in TESTS and 1 < len(split.domains) <= most:
            parts += [part(f"  {n}", of_domain(of), of.seen) for n, of in split.domains.items()]
    table = metrics_table(caption, ["Split", "Images"], parts, keys=keys, short=short)
    first = headline(scored)
    level = None if first is None else guessing(scored, first)
    row = chance_row([(key, level) for key in keys])
    if row is not None:
        heading = "Guessing" if short else row.heading
        table.rows.append(Row(heading, [Cell(), *row.cells], style=row.style, apart=True))
    table.notes += _notes(scored, keys, short=short)
    return table


def _notes(scored: EvaluationRecord, keys: tuple[str, ...], *, short: bool) -> list[str]:
    made = scored.recalibration
    said = []
    if PAIR[0] in keys and not short:  # the verdict says it
        said.append(f"Sensitivity and specificity: {threshold_text(scored)}.")
    if made is not None and made.temperature is not None:
        said.append(sentence("recalibrated_short", temperature=f"{made.temperature:.3g}"))
    positive = f"Positive class: {scored.positive_class}. " if scored.task == "binary" else ""
    below = f"Below each number: its {100 * scored.level:g}% CI." if short else ""
    said += filter(None, [f"{positive}{below}".strip()])
    if short:
        return said
    if (split := headline(scored)) is not None and split.unit == "item":
        said.append(sentence("no_groups", where=""))
    return said


def by_group_text(scored: EvaluationRecord) -> str:
    """What the scores of groups are of; empty where there are none."""
    how, split = scored.by_group, headline(scored)
    if how is None or split is None or split.by_group is None:
        return ""
    name, point = split_name(headline_split(scored)).lower(), how.operating_point
    made = words("aggregates")[how.aggregate]
    text = sentence("by_group", how=made, n=f"{split.by_group.n:,}", split=name)
    if point is None or point.threshold is None:
        return text
    chosen = split_name(point.split or "").lower()
    return f"{text} " + sentence("by_group_threshold", threshold=point.threshold, split=chosen)


def intervals_text(scored: EvaluationRecord) -> str:
    """How the intervals were made; empty where that is not known."""
    made, split = scored.intervals, headline(scored)
    if made is None or split is None:
        return ""
    return sentence(
        "run_intervals",
        level=100 * made.level,
        method=made.method,
        draws=made.draws,
        unit="groups (patients, slides)" if split.unit == "group" else "images",
        seed=made.seed,
    )


def first_figure(scored: EvaluationRecord) -> tuple[str, Callable[[], Drawing | None]]:
    """Tested domains of ten images or more if there are several; else labels, ROC or confusion.

    Returns:
        Its name, and what draws it.
    """
    split = headline(scored) or SplitRecord()
    large = large_domains(scored)
    if len(large) > 1:
        of_domains = {name: (of.metrics, of.seen) for name, of in large.items()}
        return "domains", lambda: _forest("domains", leading(scored)[0], of_domains)
    if scored.task == "multi-label":
        of_labels = {name: (of.metrics, False) for name, of in split.classes.items()}
        return "labels", lambda: _forest("labels", "auc", of_labels)
    if scored.task == "binary":
        return "roc", lambda: roc_figure(split)
    return "confusion", lambda: confusion_figure(split, scored.class_names)


def _forest(
    name: str, key: str, found: Mapping[str, tuple[Mapping[str, Number], bool]]
) -> Drawing | None:
    known = metric_facts(key)
    rows = [
        Whisker(title, Estimate.of(number), "o" if seen else "s")
        for title, (metrics, seen) in found.items()
        if (number := metrics.get(key)) is not None and number.value is not None
    ]
    return forest_figure(
        name, key, rows, title=f"{known.title} by {name[:-1]}",
        legend={"o": "seen in training", "s": "unseen"} if name == "domains" else None,
        caption=sentence("first_forest", of=name[:-1]),
    )  # fmt: skip
