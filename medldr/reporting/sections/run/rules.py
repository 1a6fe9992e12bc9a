"""What each selection rule of a run chose, and what its weights reach on the headline split."""

from __future__ import annotations

from medldr.evaluation.estimate import Estimate
from medldr.folders.run_record import Selection
from medldr.metrics import PERCENT, measure
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name

SHOWN = ("accuracy", "auc")
ABSENT = "not judged; run medldr evaluate on the run again"


def rules(files: RunFiles) -> Section | None:
    """The section of the page; None where the run has a single rule."""
    table = rule_table(files)
    if table is None:
        return None
    text = (
        "Several rules chose weights from this training. The first one's are reported everywhere "
        "else on this page."
    )
    return Section("rules", "By selection rule", "Rules", [Paragraph(text), table])


def rule_table(files: RunFiles) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule."""
    if len(files.by_rule) < 2:
        return None
    split = headline_split(files.evaluation)
    table = Table("By selection rule", ["Rule", "Split read", "Epoch", "Value there"], texts=(1,))
    table.columns += [f"{split_name(split)}: {measure(key).heading}" for key in SHOWN]
    for place, (rule, (chosen, judged)) in enumerate(files.by_rule.items()):
        epoch = chosen.epoch
        cells = [
            Cell(split_name(chosen.split).lower()) if chosen.split else Cell(),
            Cell() if epoch is None else Cell(f"{epoch}", order=float(epoch)),
            _value(chosen),
        ]
        there = None if judged is None else judged.splits.get(split)
        scored = {} if there is None else there.metrics
        for key in SHOWN:
            number = Estimate(reason=ABSENT) if judged is None else None
            number = Estimate.of(scored[key]) if key in scored else number
            cells.append(table.number(key, number))
        tags = (*(["reported"] if place == 0 else []), *(["oracle"] if chosen.oracle else []))
        table.rows.append(Row(rule, cells, tags, "reference" if place == 0 else ""))
    if any(chosen.oracle for chosen, _ in files.by_rule.values()):
        table.notes.append(
            "An oracle chose by looking at the test split: an upper bound, not a measurement."
        )
    return table


def _value(chosen: Selection) -> Cell:
    if chosen.value is None:
        return Cell()
    known = measure(metric_of(chosen.rule))
    return Cell(known.show(chosen.value) + (PERCENT if known.percent else ""), order=chosen.value)


def metric_of(rule: str) -> str:
    """The metric that a rule compares; empty for ``last``.

    Example:
        >>> metric_of("id_val_balanced_accuracy"), metric_of("oracle_auc"), metric_of("last")
        ('balanced_accuracy', 'auc', '')
        >>> metric_of("swad")
        'domain_loss'
    """
    if rule == "swad":
        return "domain_loss"
    for prefix in ("id_val_", "val_", "oracle_out_", "oracle_"):
        if rule.startswith(prefix):
            return rule.removeprefix(prefix)
    return ""
