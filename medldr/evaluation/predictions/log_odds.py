"""Log-odds of each class, by which confident answers are ranked.

In float64 a probability is 1 above log-odds of 37, while small ones stay apart down to 1e-308, so a
network that is very sure ties all its positives. Log-odds do not saturate. They increase with the
probability, so all ranks of probabilities that differ are the same: of class k ``z_k`` minus the
``logsumexp`` of the other logits, of one label among several the logit itself. Raw logits rank
otherwise, since softmax ignores what is added to all of them, and so does the distance to the best
other class.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp  # scipy.stats takes a second to load

from medldr.evaluation.metrics.ranking import positives
from medldr.evaluation.metrics.sums import Array
from medldr.types import Predictions, Task

TWO: Final = 2
"""Classes whose gap is exact."""
ROUNDED: Final = 1e-12
"""Probabilities nearer to 1 are so coarse that different log-odds share one."""
DECIMALS: Final = 12
"""Digits of a mean's log-odds; beyond them is what the order of its terms adds, which would part
items that are equal."""
BY_PROBABILITY: Final = (
    "AUC, AUPRC and risk-coverage rank by probabilities, because there are no log-odds beside them "
    "in predictions.csv: right and wrong answers whose probability rounds to 1 count as ties"
)


def log_odds(logits: NDArray[np.float32] | Array, task: Task) -> Array:
    """Log-odds of every class.

    Args:
        logits: ``(N, K)``, normalised or not.
        task: Kind of labels.

    Returns:
        ``(N, K)``, NaN where probabilities are.

    Example:
        >>> log_odds(np.array([[0.0, 90.0]]), "binary").tolist()
        [[-90.0, 90.0]]
        >>> log_odds(np.array([[5.0, 5.0, 905.0]]), "multi-class").round(4).tolist()
        [[-900.0, -900.0, 899.3069]]
    """
    z = np.array(logits, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # logits that are not finite
        if task != "multi-label":
            z -= z.max(axis=1, keepdims=True)  # so that equal gaps stay equal
            z = z - z[:, ::-1] if z.shape[1] == TWO else _of_many(z)
    # A class that a network rules out, by a logit of minus infinity, has the lowest number.
    return np.nan_to_num(z, nan=np.nan)


def _of_many(z: Array) -> Array:
    """Of logits whose largest is 0 in every row."""
    top = np.arange(len(z)), z.argmax(axis=1)
    rest = z.copy()
    rest[top] = -np.inf
    others = np.asarray(logsumexp(rest, axis=1))
    log_p = rest - np.logaddexp(0, others)[:, None]
    odds: Array = log_p - np.log1p(-np.exp(log_p))  # these are at most one half
    odds[top] = -others  # one minus the largest would cancel
    return odds


def log_odds_of_mean(odds: Array) -> Array:
    """Log-odds of the mean of several probabilities; items with equal means stay tied.

    Args:
        odds: ``(M, ...)`` log-odds.

    Example:
        >>> log_odds_of_mean(np.array([40.0, 60.0])).round(6).tolist()  # half of exp(-40) is wrong
        40.693147
        >>> log_odds_of_mean(np.array([-1.5, 1.5])).tolist()
        0.0
    """
    if len(odds) == 1:
        return np.asarray(odds[0])
    ratio = logsumexp(log_expit(odds), axis=0) - logsumexp(log_expit(-odds), axis=0)
    return np.asarray(ratio.round(DECIMALS) + 0.0)  # no minus zero


def ties_confident(table: Predictions) -> bool:
    """Whether a table without log-odds ties right with wrong answers that are nearly certain."""
    if table.log_odds is not None:
        return False
    truth = positives(table.label, len(table.class_names), table.task)
    sure = table.prob > 1 - ROUNDED
    right, wrong = (sure & (truth == 1)).any(axis=0), (sure & (truth == 0)).any(axis=0)
    return bool((right & wrong).any())
