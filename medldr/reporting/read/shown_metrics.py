"""Which metrics a page shows, and in what order, from the facts of `medldr.metrics`."""

from __future__ import annotations

from collections.abc import Iterable

from medldr.metrics import METRICS, TASKS


def in_order(keys: Iterable[str]) -> list[str]:
    """Keys of metrics in the order in which a page shows them, each once; unknown ones last.

    Example:
        >>> in_order(["nll", "dice_score", "accuracy", "nll"])
        ['accuracy', 'nll', 'dice_score']
    """
    place = {name: number for number, name in enumerate(METRICS)}
    return sorted(dict.fromkeys(keys), key=lambda key: place.get(key, len(place)))


def card_metrics(task: str) -> tuple[str, ...]:
    """The few metrics that a page shows large; several labels per image are led by the AUC.

    Example:
        >>> card_metrics("ordinal"), card_metrics("multi-label")[:2]
        (('accuracy', 'auc', 'quadratic_kappa', 'mae'), ('auc', 'accuracy'))
    """
    found = [metric.name for metric in METRICS.values() if task in metric.cards]
    # Most labels of most images are negative, so accuracy over labels says little.
    return tuple(sorted(found, key=lambda name: task == "multi-label" and name != "auc"))


def comparison_metrics(task: str) -> tuple[str, ...]:
    """Metrics of a table of methods: what every domain is judged by, and the task's own.

    Example:
        >>> comparison_metrics("ordinal")
        ('accuracy', 'auc', 'balanced_accuracy', 'ece', 'quadratic_kappa', 'mae')
    """
    common = [metric.name for metric in METRICS.values() if "domain" in metric.levels]
    own = [
        metric.name for metric in METRICS.values() if metric.tasks != TASKS and task in metric.cards
    ]
    return (*common, *own)
