"""All metrics of a set of predictions, each a plain number or undefined with a reason.

`measures` collects what fits the task as `Sums`, which give values and bootstrap draws alike;
`accuracy`, `auc` and `score` are the short ways to single numbers. Undefined numbers are None.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics import calibration, counts, operating_point, ordinal, ranking
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.types import Predictions, Task

DEFINITIONS: dict[str, str] = {
    "accuracy": "share of right decisions; multi-label: per label (above 0.5), then their mean",
    "auc": "area under the ROC curve; unweighted mean over classes against the rest, or labels",
    "balanced_accuracy": "mean recall of the classes that occur; multi-label: mean over labels of "
    "(sensitivity + specificity) / 2",
    "macro_f1": "mean F1 of the classes that occur in the labels or among the decisions",
    "exact_match": "share of items all of whose known labels are right",
    "ece": "calibration error of the decided class (multi-label: of each label, averaged); "
    "resampling makes it larger, so its interval may lie above it",
    "ece_positive": "calibration error of the positive class's probability",
    "brier": "squared error of the probabilities, summed over classes; binary and multi-label: "
    "of one probability",
    "nll": "mean negative log probability of the label",
    "sensitivity": "recall of the positive class",
    "specificity": "recall of the other class",
    "sensitivity_at_specificity": "sensitivity at the threshold that gives the wanted specificity "
    "on the validation split",
    "specificity_at_threshold": "specificity reached here at that threshold",
    "quadratic_kappa": "agreement of ordered classes, quadratic weights",
    "mae": "mean distance between label and decision, in classes",
    "worst_domain": "lowest accuracy of any domain",
    "worst_group": "lowest accuracy of any group (slide, patient) that has items; each bootstrap "
    "draw finds its own worst among the groups that it took, so that its interval lies at or above",
}

_REASONS = {
    "auc": "only one class in the labels",
    "recall": "no such class in the labels",
    "sensitivity": "no such class in the labels",
    "specificity": "no other class in the labels",
    "sensitivity_at_specificity": "no such class in the labels",
    "specificity_at_threshold": "no other class in the labels",
    "precision": "never decided for",
    "f1": "neither in the labels nor decided for",
    "macro_f1": "no class in the labels or decided for",
    "balanced_accuracy": "no label with both positives and negatives",
    "quadratic_kappa": "labels and decisions are all one class",
}


def measures(
    label: NDArray[np.int64] | Array,
    prob: Array,
    task: Task,
    *,
    bins: int = 15,
    positive: int = 1,
    threshold: float | None = None,
) -> list[Sums]:
    """Every metric that fits the task.

    Args:
        label: ``(N,)`` class numbers, or multi-label ``(N, L)`` of 0, 1 and NaN (missing).
        prob: ``(N, K)`` probabilities, all finite (see `unusable`).
        task: Kind of labels.
        bins: Bins of the calibration error.
        positive: Column of the positive class; binary only.
        threshold: Adds ``sensitivity_at_specificity``; binary only.
    """
    if task == "multi-label":
        return [
            counts.label_counts(label.astype(np.float64), prob),
            ranking.auc(label, prob, task),
            *calibration.label_calibration(label.astype(np.float64), prob, bins),
        ]
    number = label.astype(np.int64)
    confidence, right = calibration.top_label(number, prob, task)
    found = [
        counts.class_counts(number, prob, task, positive),
        ranking.auc(number, prob, task),
        calibration.probability_sums(number, prob, task),
        calibration.calibration_error("ece", confidence, right, bins),
    ]
    if task == "ordinal":
        found.append(ordinal.distance(number, prob))
    if task == "binary":
        truth = (number == positive).astype(np.float64)
        found.append(calibration.calibration_error("ece_positive", prob[:, positive], truth, bins))
        if threshold is not None:
            found.append(
                operating_point.at_threshold(number, prob, positive=positive, threshold=threshold)
            )
    return found


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
        'never decided for'
    """
    if not known:
        return "no label is known"
    return _REASONS.get(name.rsplit("/", 1)[-1], "no label is known")


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
    if name == "auc":
        found = ranking.auc(label, prob, task)
    elif task == "multi-label":
        found = counts.label_counts(label.astype(np.float64), prob)
    else:
        found = counts.class_counts(label.astype(np.int64), prob, task, 1)
    value = found.value()[name]
    return None if np.isnan(value) else value


def score(predictions: Predictions) -> dict[str, float | None]:
    """Headline numbers without intervals, for validation while training.

    Args:
        predictions: Of one split.

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
    found = {k: v for k, v in values(measures(label, prob, task)).items() if "/" not in k}
    renamed = {"loss": found.pop("nll"), **found}
    return {name: None if np.isnan(v) else v for name, v in renamed.items()}
