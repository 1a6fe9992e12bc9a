"""What each selection rule of a run chose, and what its weights reach on the test split."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.metrics import PERCENT, SPLIT_TITLES, measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.run import RunSource

SHOWN = ("accuracy", "auc")
ABSENT = "not judged; run medldr evaluate on the run again"


def rule_table(source: RunSource, split: str) -> Table | None:
    """A row per rule, the reported one first; None where the run has a single rule.

    Args:
        source: The run.
        split: The split whose numbers are shown.
    """
    judged = source.by_rule
    if len(judged) < 2:
        return None
    name = SPLIT_TITLES.get(split, split)
    table = Table(
        "By selection rule",
        [
            "Rule",
            "Split read",
            "Epoch",
            "Value there",
            *(f"{name}: {measure(k).heading}" for k in SHOWN),
        ],
        texts=(1,),
    )
    reported = next(iter(judged))
    for rule, (chosen, evaluation) in judged.items():
        epoch = chosen.get("epoch")
        read = str(chosen.get("split") or "")
        cells = [
            Cell(SPLIT_TITLES.get(read, read).lower() or "–"),
            Cell("–") if epoch is None else Cell(f"{epoch}", value=float(epoch)),
            _value(rule, chosen),
        ]
        numbers = _metrics(evaluation, split)
        for key in SHOWN:
            absent = {"value": None, "reason": ABSENT} if numbers is None else None
            cells.append(table.number(key, absent or (numbers or {}).get(key)))
        tags = ["reported"] if rule == reported else []
        tags += ["oracle"] if chosen.get("oracle") else []
        style = "reference" if rule == reported else ""
        table.rows.append(Row(rule, cells, tags=tuple(tags), style=style))
    if any(chosen.get("oracle") for chosen, _ in judged.values()):
        table.notes.append(
            "An oracle chose by looking at the test split: an upper bound, not a measurement."
        )
    return table


def _metrics(evaluation: Mapping[str, Any] | None, split: str) -> Mapping[str, Any] | None:
    if evaluation is None:
        return None
    found: Mapping[str, Any] = ((evaluation.get("splits") or {}).get(split) or {}).get(
        "metrics"
    ) or {}
    return found


def _value(rule: str, chosen: Mapping[str, Any]) -> Cell:
    value = chosen.get("value")
    if value is None:
        return Cell("–")
    known = measure(metric_of(rule))
    return Cell(known.show(value) + (PERCENT if known.percent else ""), value=value)


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
