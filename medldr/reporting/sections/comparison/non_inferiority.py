"""Non-inferiority in sentences: each method against the margin, on each split."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison, Method
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.table import interval


def judgements(found: Comparison) -> list[str]:
    """What is known of every method on every split; empty where no margin was asked for."""
    if found.margin is None:
        return []
    said = [
        _judgement(found, split, method) for split in found.page_order for method in found.others
    ]
    return [text for text in said if text] + [sentence("margins")]


def _judgement(found: Comparison, split: str, method: Method) -> str:
    if found.margin is None:
        return ""
    metric, margin = found.margin
    difference = found.difference(split, metric, method.name)
    base = next(other for other in found.methods if other.name == found.reference)
    # An oracle's numbers are optimistic and say nothing about who is better.
    if difference is None or method.oracle or base.oracle:
        return ""
    known = metric_facts(metric)
    verdict = difference.non_inferiority
    return sentence(
        "cannot_be_told" if difference.untested and verdict else verdict or "not_judged",
        place=found.title(split),
        untested=difference.untested,
        method=method.name,
        reference=found.reference,
        metric=known.title if known.title.isupper() else known.title.lower(),
        margin=f"{100 * margin:g} percentage points" if known.percent else f"{margin:g}",
        ends=interval(difference.estimate, known, signed=True),
        reason=difference.estimate.reason or "there is no interval",
    )
