"""Intervals in sentences, and the order and titles that every page shares."""

from __future__ import annotations

from collections.abc import Iterable

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import Number
from medldr.metrics import PERCENT, SPLIT_TITLES, Measure
from medldr.reporting.table import interval

ORDER = (
    "accuracy", "auc", "balanced_accuracy", "macro_f1", "exact_match", "sensitivity",
    "specificity", "sensitivity_at_specificity", "specificity_at_threshold",
    "quadratic_kappa", "mae", "ece", "ece_positive", "brier", "nll",
    "recall", "precision", "f1",
)  # fmt: skip
"""Metrics in the order in which a page shows them."""


def ordered(keys: Iterable[str]) -> list[str]:
    """Metrics in the order in which a page shows them; unknown ones last.

    Example:
        >>> ordered(["nll", "dice", "auc", "nll"])
        ['auc', 'nll', 'dice']
    """
    keys = list(dict.fromkeys(keys))
    return sorted(keys, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))


def split_name(split: str) -> str:
    """A split as a page names it.

    Example:
        >>> split_name("id_val"), split_name("night")
        ('Validation, seen domains', 'night')
    """
    return SPLIT_TITLES.get(split, split)


def bracketed(
    number: Number | Estimate,
    known: Measure,
    level: float = 0.95,
    *,
    signed: bool = False,
    unit: str = "",
) -> str:
    r"""An interval as it follows its number in a sentence; empty where there is none.

    Example:
        >>> from medldr.metrics import measure
        >>> bracketed(Estimate(0.7, low=0.65, high=0.75), measure("accuracy"))
        ' (95\xa0% interval 65.0 to 75.0)'
    """
    held = Estimate.of(number) if isinstance(number, Number) else number
    ends = interval(held, known, signed=signed)
    return f" ({100 * level:g}{PERCENT} interval {ends}{unit})" if ends else ""
