"""The numbers of a run as they are printed on the terminal."""

from __future__ import annotations

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.primary import DEFAULT
from medldr.folders.evaluation_record import EvaluationRecord, Number
from medldr.metrics import metric_facts
from medldr.reporting.document import Banner, Document, Section
from medldr.reporting.results.headline import TESTS, page_order
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.run.result import collapses
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import SHOTS, card_metrics, rule_text

NAMES = {"id_val": "val, seen", "id_test": "test, seen"}


def run_overview(scored: EvaluationRecord) -> Document:
    """Headline numbers of one run: a row per split, and per domain of the test splits."""
    oracle = scored.selection is not None and scored.selection.oracle
    banners = [Banner("oracle", "ORACLE: selected on the test split")] if oracle else []
    banners += collapses(scored)
    sections = [Section("result", "", "", [overview_table(scored)])]
    return Document("", "", banners=banners, sections=sections)


def overview_table(scored: EvaluationRecord) -> Table:
    """Its only table."""
    keys = card_metrics(scored.task, scored.primary) + (SHOTS if scored.shots is not None else ())
    chosen, caption = scored.selection, "results"
    if chosen is not None:
        rule = rule_text(chosen.rule, chosen.split or "")
        caption = f"epoch {chosen.epoch}, {rule} ({chosen.rule})"
    table = Table(caption, ["split", "n"])
    table.columns += [metric_facts(key).short_heading for key in keys]

    def add(heading: str, n: int | None, numbers: dict[str, Number], style: str = "") -> None:
        # A metric that is not scored on a whole split has a dash; a part of it need not have it.
        none = Cell("-" if style == "head" else "")
        found = {key: Estimate.of(numbers[key]) for key in keys if key in numbers}
        cells = [Cell(found[key], metric_facts(key)) if key in found else none for key in keys]
        table.rows.append(Row(heading, [Cell() if n is None else Cell(n), *cells], style=style))

    for name, split in page_order(scored).items():
        title = NAMES.get(name, name) + (", unseen" if split.unseen else "")
        add(title, split.n, split.metrics, "head")
        if split.by_group is not None:
            add("  by group", split.by_group.n, split.by_group.metrics)
        if split.worst_group is not None:
            add("  worst group", split.worst_group.n, {"accuracy": split.worst_group.accuracy})
        if name in TESTS and len(split.domains) > 1:
            for domain, entry in split.domains.items():
                add(f"  {domain}{'' if entry.seen else ' (unseen)'}", entry.n, entry.metrics)
    cells = (cell.content for row in table.rows for cell in row.cells)
    undefined = (c.reason for c in cells if isinstance(c, Estimate) and c.mean is None)
    notes = [f"n/a: {reason}" for reason in dict.fromkeys(undefined)]
    if scored.task == "binary":
        notes.append(f"positive class: {scored.positive_class}")
    below = f"below each number: its {100 * scored.level:g}% CI"
    below += "; below ECE: what a perfectly calibrated model would show" if "ece" in keys else ""
    notes += [gap_sentence(scored, scored.primary or DEFAULT), below]
    table.notes = [note for note in notes if note]
    return table
