"""All metrics of a set of predictions, each a plain number or undefined with a reason.

`measures` collects what fits the task as `Sums`, which give values and bootstrap draws alike;
`accuracy`, `auc` and `score` are shortcuts to single numbers; `domain_means` and `held_out_curves`
are those of each domain, which training logs and selects by. Undefined numbers are None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics import calibration, counts
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.metrics import METRICS, metric_facts
from medldr.types import Predictions, Task

DEFINITIONS: dict[str, str] = {m.name: m.definition for m in METRICS.values() if m.definition}
"""What `evaluation.json` says about each of its numbers."""


def measures(items: Items, *, level: str = "", only: str = "") -> list[Sums]:
    """Every metric that fits the task.

    Args:
        items: What is scored, with probabilities that are all finite (see `unusable`). A threshold
            or decisions add ``sensitivity_at_specificity`` and what else needs one, a prevalence
            the predictive values there, shots the accuracies on frequent and rare classes.
        level: Leaves out what is not reported for it (``domain``), which saves time.
        only: Leaves out all but what computes this metric.
    """
    decides = items.threshold is not None or items.decision is not None
    wanted = _functions(items.task, decides, items.shots is not None, level, only)
    return [function(items) for function in wanted]


@cache
def _functions(
    task: Task, with_threshold: bool, with_shots: bool, level: str, only: str
) -> tuple[Callable[[Items], Sums], ...]:
    """The functions that the rows of `medldr.metrics` name, each once."""
    named = [
        metric.function
        for metric in METRICS.values()
        if metric.function
        and task in metric.tasks
        and (with_threshold or not metric.threshold)
        and (with_shots or not metric.shots)
        and (not level or level in metric.levels)
        and only in ("", metric.name)
    ]
    found = []
    for name in dict.fromkeys(named):
        module, _, function = name.rpartition(".")
        found.append(getattr(import_module(f"{__package__}.{module}"), function))
    return tuple(found)


def values(found: list[Sums]) -> dict[str, float]:
    """All metrics of `measures` at once, NaN where undefined."""
    return {name: value for sums in found for name, value in sums.value().items()}


def unusable(label: NDArray[np.int64] | Array, prob: Array) -> str | None:
    """Why nothing can be measured, or None if something can."""
    if not len(prob):
        return "no items"
    broken = int((~np.isfinite(prob)).any(axis=1).sum())
    if broken:
        return f"the outputs of {broken} of {len(prob)} items are not finite"
    if np.isnan(label).all():
        return "no label is known"
    return None


def reason(name: str, *, known: bool = True) -> str:
    """Why a metric of usable predictions is undefined.

    Args:
        name: Its name, such as ``auc`` or ``class/3/recall``.
        known: Whether any label of that class is known (multi-label).

    Example:
        >>> reason("class/3/precision")
        'never predicted'
    """
    if not known:
        return "no label is known"
    return metric_facts(name).undefined or "no label is known"


def accuracy(label: NDArray[np.int64] | Array, prob: Array, task: Task) -> float | None:
    """MedMNIST's ACC; None without known labels.

    Example:
        >>> accuracy(np.array([0, 1, 1, 0]), np.array([[0.2], [0.5], [0.9], [0.65]]), "binary")
        0.5
    """
    return _single(label, prob, task, "accuracy")


def auc(label: NDArray[np.int64] | Array, prob: Array, task: Task) -> float | None:
    """MedMNIST's AUC; the mean over those classes or labels where it is defined, else None.

    Example:
        >>> auc(np.array([0, 1, 1, 0]), np.array([[0.2], [0.5], [0.9], [0.65]]), "binary")
        0.75
    """
    return _single(label, prob, task, "auc")


def _single(label: NDArray[np.int64] | Array, prob: Array, task: Task, name: str) -> float | None:
    if task == "binary" and (prob.ndim == 1 or prob.shape[1] == 1):
        positive = prob.reshape(-1)  # the evaluator also takes the positive class's scores alone
        prob = np.stack([1 - positive, positive], axis=1)
    if unusable(label, prob):
        return None
    value = values(measures(Items(label, prob, task), only=name))[name]
    return None if np.isnan(value) else value


def score(predictions: Predictions, positive: int = 1) -> dict[str, float | None]:
    """Headline numbers without intervals, for validation while training.

    Args:
        predictions: Of one split.
        positive: Column of the positive class; binary only.

    Returns:
        ``loss`` (the unweighted `nll`), ``accuracy``, ``auc`` and the other metrics of the task
        that need no threshold; None where undefined.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> p = predictions_of("binary", [0, 1], [[0.9, 0.1], [0.2, 0.8]])
        >>> score(p)["accuracy"], score(p)["auc"]
        (1.0, 1.0)
    """
    label, prob, task = predictions.label, predictions.prob, predictions.task
    if unusable(label, prob):
        return {"loss": None, "accuracy": None, "auc": None}
    ranks_by = predictions.ranks_by
    items = Items(label, prob, task, positive=positive, ranks_by=ranks_by)
    every = values(measures(items))
    found = {k: v for k, v in every.items() if "/" not in k}
    renamed = {"loss": found.pop("nll"), **found}
    return {name: None if np.isnan(v) else v for name, v in renamed.items()}


def domain_means(predictions: Predictions) -> dict[str, float | None]:
    """Unweighted means over the domains of accuracy and loss.

    Args:
        predictions: Of one split.

    Source:
        DomainBed (Gulrajani and Lopez-Paz 2021) selects by the unweighted mean over the seen
        domains of the accuracy on held-back rows ("training-domain validation"): a large domain
        counts no more than a small one. Our choice: the mean of the loss as well; rows without a
        domain, where others have one, count in neither.

    Returns:
        ``domain_accuracy`` and ``domain_loss``, None where that of any domain is undefined; empty
        where no row has a domain.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
        >>> p = predictions_of("binary", [0, 1, 0], prob, domain=["a", "a", "b"])
        >>> domain_means(p)["domain_accuracy"]
        0.5
    """
    names = [name for name in np.unique(predictions.domain).tolist() if name]
    if not names:
        return {}
    each = [_accuracy_and_loss(predictions.select(predictions.domain == name)) for name in names]
    right, loss = np.mean(each, axis=0).tolist()
    means = {"domain_accuracy": right, "domain_loss": loss}
    return {name: None if np.isnan(value) else value for name, value in means.items()}


def held_out_curves(predictions: Predictions) -> dict[str, float | None]:
    """Accuracy of each held-out domain and of its two parts, None where undefined.

    Args:
        predictions: Of the split ``test``, with the part of each row.

    Returns:
        Keys ``held_out/<domain>/accuracy`` and ``held_out/<domain>/<part>/accuracy``.
    """
    row = {}
    for domain in np.unique(predictions.domain).tolist():
        of_domain = predictions.select(predictions.domain == domain)
        tables = {f"held_out/{domain}": of_domain}
        for part in np.unique(of_domain.part).tolist():
            tables[f"held_out/{domain}/{part}"] = of_domain.select(of_domain.part == part)
        for key, table in tables.items():
            row[f"{key}/accuracy"] = accuracy(table.label, table.prob, table.task)
    return row


def _accuracy_and_loss(table: Predictions) -> tuple[float, float]:
    """As `score` defines them; NaN where undefined."""
    label, prob, task = table.label, table.prob, table.task
    if unusable(label, prob):
        return np.nan, np.nan
    items = Items(label, prob, task)
    right = counts.decisions(items).value()["accuracy"]
    return right, calibration.likelihoods(items).value()["nll"]
