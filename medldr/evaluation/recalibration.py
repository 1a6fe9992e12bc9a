"""Recalibration of predicted probabilities by one number, fitted on the validation split.

Temperature scaling divides the logits of every image by the same temperature. Softmax ignores a
constant that is added to all logits of an image, so the logarithms of the probabilities serve as
logits, and the predictions are all that is needed: ``p_T`` is proportional to ``p ** (1 / T)``;
with several labels per image, the logit of each probability is divided by ``T``. The temperature
minimises the log loss (NLL) of the validation split as `evaluation.json` reports it, which is
convex in ``1 / T``.

The order of the classes of an image does not change, so every decision stays the same, nor does the
order of the images of a binary task, except where a temperature below 1 rounds different
probabilities to 1.

A temperature is used only where the validation split determines it. There is none without a
validation split, with outputs that are not finite, with labels that are all one class, or where the
loss has no minimum between `LOWEST` and `HIGHEST`: it falls without end towards zero where every
validation image is classified correctly, which would turn all probabilities into 0 and 1, and
towards infinity where the probabilities say nothing about the labels.

Source:
    Guo et al. 2017; the bounds, and to leave probabilities as they are there, are our choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.metrics.calibration import SMALLEST
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.split_scores import positive_class
from medldr.folders.evaluation_parts import Recalibration
from medldr.metrics import METRICS
from medldr.types import Predictions, Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

LOWEST: Final = 0.1
HIGHEST: Final = 100.0
VALIDATION: Final = ("val", "id_val")
"""Splits that a temperature may come from, the first one that was predicted."""


def recalibrated(
    tables: Mapping[str, Predictions], config: EvaluationConfig
) -> tuple[dict[str, Predictions], Recalibration | None]:
    """The predictions of one set of weights as they are to be scored and written.

    Args:
        tables: One table per split.
        config: Whether to recalibrate.

    Returns:
        The tables, unchanged where there is no temperature, and how they were made; None where no
        recalibration was asked for.
    """
    if config.recalibrate == "none":
        return dict(tables), None
    made = find(tables)
    if made.temperature is None:
        return dict(tables), made
    found = {
        split: replace(table, prob=tempered(table.prob, made.temperature, table.task))
        for split, table in tables.items()
    }
    return found, made


def find(tables: Mapping[str, Predictions]) -> Recalibration:
    """The temperature of some predictions.

    Args:
        tables: One table per split.
    """
    split = next((name for name in VALIDATION if name in tables and len(tables[name])), None)
    if split is None:
        return Recalibration(method="temperature", reason="no validation split was scored")
    table = tables[split]
    made = Recalibration(method="temperature", split=split, n=len(table))
    found = temperature(table.label, table.prob, table.task)
    if isinstance(found, str):
        return made.model_copy(update={"reason": f"{split} gives no temperature: {found}"})
    return made.model_copy(update={"temperature": found})


def temperature(label: NDArray[np.int64] | Array, prob: Array, task: Task) -> float | str:
    """The temperature with the lowest log loss.

    Args:
        label: ``(N,)`` class numbers, or multi-label ``(N, L)`` of 0, 1 and NaN (left out).
        prob: ``(N, K)`` probabilities. One of zero counts as the smallest normal float64, as in the
            log loss; so does one minus a probability of one, for several labels.
        task: Kind of labels.

    Returns:
        The temperature, or why there is none.

    Example:
        >>> sure = np.array([[0.9, 0.1]] * 10)
        >>> right = np.array([0] * 7 + [1] * 3)  # 90% sure, 70% right
        >>> round(temperature(right, sure, "binary"), 4)  # the ratio of the two logits
        2.5932
    """
    from scipy.optimize import brentq

    why = metrics.unusable(label, prob)
    if why is not None:
        return why
    logits, truth, weight = _entries(label, prob, task)
    if not any(len(np.unique(truth[weight[:, k] > 0, k])) > 1 for k in range(truth.shape[1])):
        return "its labels are all one class"

    def slope(inverse: float) -> float:
        """Derivative of the log loss by 1 / T, which increases with it."""
        guess = _probabilities(inverse * logits, task)
        return float((weight * (guess - truth) * logits).sum())

    ends = 1 / HIGHEST, 1 / LOWEST
    if slope(ends[1]) <= 0:
        return "its images are classified so well that the loss falls towards temperature 0"
    if slope(ends[0]) >= 0:
        return "its probabilities say nothing about its labels"
    return float(1 / brentq(slope, *ends, xtol=1e-14, rtol=1e-14))


def tempered(prob: Array, temperature: float, task: Task) -> Array:
    """Probabilities at another temperature.

    Args:
        prob: ``(N, K)`` probabilities; what is not finite stays so.
        temperature: Above 1 to make them less certain, below 1 to make them more so.
        task: Kind of labels.

    Returns:
        ``(N, K)``.

    Example:
        >>> tempered(np.array([[0.8, 0.2]]), 2.0, "binary").round(4).tolist()
        [[0.6667, 0.3333]]
    """
    return _probabilities(_logits(prob, task) / temperature, task)


def before(
    tables: Mapping[str, Predictions], config: EvaluationConfig
) -> dict[str, dict[str, float | None]]:
    """Every calibration metric of each scored split, of probabilities as the network gave them.

    Args:
        tables: One table per split.
        config: Which splits, bins and positive class.

    Returns:
        By split and metric; None where a metric is undefined, nothing for a split without any.
    """
    names = [m.name for m in METRICS.values() if m.calibration and "split" in m.levels]
    found: dict[str, dict[str, float | None]] = {}
    for split in config.splits:
        table = tables.get(split)
        if table is None or metrics.unusable(table.label, table.prob):
            continue
        positive = positive_class(table, config.positive_class)
        measured = metrics.values(
            metrics.measures(
                table.label, table.prob, table.task, bins=config.bins, positive=positive
            )
        )
        found[split] = {
            name: None if np.isnan(measured[name]) else measured[name]
            for name in names
            if name in measured
        }
    return found


def written(
    made: Recalibration, tables: Mapping[str, Predictions], config: EvaluationConfig
) -> dict[str, Any]:
    """What `evaluation.json` says about a recalibration.

    Args:
        made: The recalibration.
        tables: One table per split, as the network gave them.
        config: What is scored.
    """
    return {**made.model_dump(), "before": before(tables, config)}


def _entries(
    label: NDArray[np.int64] | Array, prob: Array, task: Task
) -> tuple[Array, Array, Array]:
    """Logits, truth and weight of every probability, ``(N, K)`` each.

    The weights make the sum over entries the log loss: the mean over items; with several labels,
    the mean over labels of each label's mean over its known items.
    """
    logits = _logits(prob, task)
    if task != "multi-label":
        truth = np.zeros_like(logits)
        truth[np.arange(len(truth)), label.astype(np.int64)] = 1
        return logits, truth, np.full_like(logits, 1 / len(logits))
    known = ~np.isnan(label)
    counts = known.sum(axis=0)
    weight = np.where(known, 1 / np.maximum(counts, 1), 0.0) / np.count_nonzero(counts)
    return logits, np.where(known, label, 0.0), weight


def _logits(prob: Array, task: Task) -> Array:
    """Numbers that `_probabilities` turns into these probabilities."""
    log = np.log(np.maximum(prob, SMALLEST))
    if task != "multi-label":
        return log
    out: Array = log - np.log(np.maximum(1 - prob, SMALLEST))
    return out


def _probabilities(logits: Array, task: Task) -> Array:
    from scipy.special import expit, softmax

    out: Array = expit(logits) if task == "multi-label" else softmax(logits, axis=1)
    return out
