"""Intervals in sentences, and which metrics a page shows, in what order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from medldr.evaluation.comparison.findings import Direction, direction
from medldr.evaluation.intervals.estimate import TESTED, Estimate
from medldr.folders.evaluation_record import Number
from medldr.metrics import METRICS, TASKS, Metric, metric_facts
from medldr.reporting.table import interval
from medldr.types import SPLIT_TITLES

TARGETS: Final = {
    "target_in": "80% of the held-out domain",
    "target_all": "whole held-out domain",
}
"""What a run is evaluated on, in words."""

_RULE_SPLITS = {
    "val": "validation",
    "id_val": "seen-domain validation",
    "oracle_out": "held-back target",
    "oracle": "test",
}


def rule_text(rule: str, split: str = "") -> str:
    """A selection rule in words, with the split that it read: ``val_*`` may have read ``id_val``.

    Example:
        >>> rule_text("val_auc"), rule_text("oracle_loss")
        ('the best validation AUC', 'the lowest test loss')
        >>> rule_text("val_mae")
        'the lowest validation mean absolute error'
        >>> rule_text("val_auc", "id_val")
        'the best seen-domain validation AUC'
        >>> rule_text("oracle_out_accuracy", "target_out")
        'the best held-back target accuracy'
        >>> rule_text("swad", "id_val")
        'the end of the average over a valley of the seen-domain validation loss'
    """
    if rule == "last":
        return "the end of training"
    if rule == "swad":
        read = _RULE_SPLITS.get(split, "validation")
        return f"the end of the average over a valley of the {read} loss"
    for prefix, named in _RULE_SPLITS.items():
        key = rule.removeprefix(f"{prefix}_")
        if key != rule:
            best = "lowest" if metric_facts(key).better == "lower" else "best"
            read = _RULE_SPLITS.get(split, named)
            words = {"auc": "AUC", "mae": "mean absolute error"}.get(key, key.replace("_", " "))
            return f"the {best} {read} {words}"
    return rule.replace("_", " ")


def ordered(keys: Iterable[str]) -> list[str]:
    """Metrics in the order in which a page shows them, each once; unknown ones last.

    Example:
        >>> ordered(["nll", "dice", "auc", "nll"])
        ['auc', 'nll', 'dice']
    """
    place = {name: number for number, name in enumerate(METRICS)}
    return sorted(dict.fromkeys(keys), key=lambda key: place.get(key, len(place)))


UNEQUAL: Final = 1.5
"""How many times the rarest class the most frequent one is before accuracy is led by the AUC."""


def card_metrics(task: str) -> list[str]:
    """The few metrics that a page shows large; several labels per image are led by the AUC.

    Example:
        >>> card_metrics("ordinal"), card_metrics("multi-label")[:2]
        (['accuracy', 'auc', 'quadratic_kappa', 'mae'], ['auc', 'accuracy'])
    """
    found = [metric.name for metric in METRICS.values() if task in metric.cards]
    # Most labels of most images are negative, so accuracy over labels says little.
    found.sort(key=lambda name: task == "multi-label" and name != "auc")
    return found


def leading_metrics(task: str, shares: Sequence[float]) -> list[str]:
    """The metrics of a first table where no study states one: what the mix of classes calls for.

    Where classes are unequal, accuracy says little, so the AUC leads; where all are equal, it is
    the balanced accuracy.

    Args:
        task: Kind of labels.
        shares: Of each class, or of the positives of each label; empty where they are unknown.

    Example:
        >>> [leading_metrics("binary", shares)[0] for shares in ((0.5, 0.5), (0.1, 0.9))]
        ['accuracy', 'auc']
    """
    found = [key for key in card_metrics(task) if not metric_facts(key).biased]
    if task == "multi-label" or not shares:
        return found
    if max(shares) >= UNEQUAL * min(shares):
        return sorted(found, key=lambda key: key == "accuracy")
    same = len(set(shares)) == 1
    return [key for key in found if key != "balanced_accuracy" or not same]


def comparison_metrics(task: str) -> tuple[str, ...]:
    """Metrics of a table of methods: those that every domain has, and the task's own.

    Example:
        >>> comparison_metrics("ordinal")
        ('accuracy', 'auc', 'balanced_accuracy', 'ece', 'quadratic_kappa', 'mae')
    """
    common = [metric.name for metric in METRICS.values() if "domain" in metric.levels]
    own = [m.name for m in METRICS.values() if m.tasks != TASKS and task in m.cards]
    return (*common, *own)


SHOTS = tuple(metric.name for metric in METRICS.values() if metric.shots)
"""Metrics of frequent and rare classes, which pages show wherever they were asked for."""


def split_name(split: str) -> str:
    """A split as a page names it.

    Example:
        >>> split_name("id_val"), split_name("night")
        ('Validation, seen domains', 'night')
    """
    return SPLIT_TITLES.get(split, split)


def bracketed(
    number: Number | Estimate, known: Metric, level: float = 0.95, *,
    signed: bool = False, unit: str = "",
) -> str:  # fmt: skip
    r"""An interval as it follows its number in a sentence; empty where there is none.

    Example:
        >>> from medldr.metrics import metric_facts
        >>> bracketed(Estimate(0.7, low=0.65, high=0.75), metric_facts("accuracy"))
        ' (95% CI 65.0 to 75.0)'
    """
    held = Estimate.of(number) if isinstance(number, Number) else number
    ends = interval(held, known, signed=signed)
    return f" ({100 * level:g}% CI {ends}{unit})" if ends else ""


def spoken(metric: str) -> str:
    """A metric within a sentence.

    Example:
        >>> spoken("accuracy"), spoken("auc")
        ('accuracy', 'AUC')
    """
    title = metric_facts(metric).title
    return title if title.isupper() else title.lower()


def points_text(value: float, metric: str) -> str:
    """A difference with its sign and unit.

    Example:
        >>> points_text(0.024, "accuracy"), points_text(0.024, "auc")
        ('+2.4 percentage points', '+0.024')
    """
    known = metric_facts(metric)
    return known.show_difference(value) + (" percentage points" if known.percent else "")


def shown_number(held: Estimate, metric: Metric, *, signed: bool = False) -> str:
    """A number with its interval, as a sentence has it.

    Example:
        >>> share = Metric("share", "Share", "", percent=True)
        >>> shown_number(Estimate(0.05, low=-0.01, high=0.11), share, signed=True)
        '+5.0 percentage points, 95% CI −1.0 to +11.0'
        >>> shown_number(Estimate(0.5), share)
        '50.0%, no CI'
    """
    if held.mean is None:
        return f"undefined: {held.reason}"
    ends = interval(held, metric, signed=signed)
    text = metric.show_difference(held.mean) if signed else metric.with_unit(held.mean)
    unit = " percentage points" if signed and metric.percent else ""
    return f"{text}{unit}, {f'95% CI {ends}' if ends else 'no CI'}"


def called(difference: Estimate, metric: Metric, *, higher: str, lower: str) -> str:
    """A difference in words, with its interval; which way it goes is said where that is clear.

    Example:
        >>> share = Metric("share", "Share", "", percent=True)
        >>> called(Estimate(0.05, low=0.01, high=0.09), share, higher="more", lower="less")
        'more (+5.0 percentage points, 95% CI +1.0 to +9.0)'
        >>> called(Estimate(0.05, low=-0.01, high=0.11), share, higher="more", lower="less")
        'no clear difference (+5.0 percentage points, 95% CI −1.0 to +11.0)'
        >>> called(Estimate(reason="one group"), share, higher="more", lower="less")
        'not compared (one group)'
    """
    if difference.mean is None:
        return f"not compared ({difference.reason})"
    words = {"higher": higher, "lower": lower, "unclear": "no clear difference"}
    return f"{words[way(difference)]} ({shown_number(difference, metric, signed=True)})"


def way(difference: Estimate) -> Direction:
    """Which way a difference goes where it is clear: fewer than three seeds are not enough."""
    few = difference.n is not None and difference.n < TESTED
    return "unclear" if few else direction(difference)
