"""A random-effects summary of effects that were measured on several data sets.

The effect of data set i is taken as mu + u_i + e_i: u_i differs between data sets with variance
tau^2, e_i is the error of measurement, whose standard error is taken as known. mu is the mean
effect over data sets like these, which is not the effect in any one of them: the prediction
interval says where that of a new data set may lie.

What is pooled has to be independent: data sets, each with its own images. Held-out domains of one
data set share most of their training images, and two tables of the same test images share those;
an interval of mu over either is too narrow, and says nothing of other data sets.

Source:
    The paper averages accuracies over data sets, without an interval; this summary is our choice.
    tau^2 by REML (Viechtbauer 2005), without a value below 0; the interval of Hartung and Knapp
    (2001) and Sidik and Jonkman (2002) on k - 1 degrees of freedom; I^2 of Higgins and Thompson
    (2002) from the same tau^2; Cochran's Q (1954); the prediction interval of Higgins, Thompson
    and Spiegelhalter (2009) on k - 2 degrees of freedom, with the variance of Hartung and Knapp as
    Partlett and Riley (2017) have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import chdtrc, stdtrit  # scipy.stats takes a second to load

from medldr.evaluation.intervals.bootstrap import LEVEL
from medldr.evaluation.metrics.sums import Array

FEW = 3
"""With fewer data sets neither tau^2 nor the interval can be relied on."""


@dataclass(frozen=True)
class RandomEffects:
    """Effects of several data sets, summarised; all in the unit of the effects.

    Attributes:
        mean: The mean effect over data sets.
        error: Its standard error, by Hartung and Knapp.
        low: Lower end of its interval.
        high: Upper end of its interval.
        tau2: Variance of the effect between data sets.
        i2: Share of the spread between effects that `tau2` makes, from 0 to 1.
        q: Cochran's Q, about k - 1 where one effect holds everywhere.
        q_p: Its p: how often Q is at least as large where one effect holds everywhere.
        predicted: Where the effect in a new data set may lie; None for two data sets.
        weights: ``(k,)``, share of each data set in the mean.
    """

    mean: float
    error: float
    low: float
    high: float
    tau2: float
    i2: float
    q: float
    q_p: float
    predicted: tuple[float, float] | None
    weights: tuple[float, ...]

    @property
    def tau(self) -> float:
        """Standard deviation of the effect between data sets."""
        return float(self.tau2**0.5)

    @property
    def few(self) -> bool:
        """Whether there are too few data sets to rely on it."""
        return len(self.weights) < FEW


def random_effects(effects: Sequence[float], errors: Sequence[float]) -> RandomEffects | None:
    """Summarise effects of independent data sets.

    The interval uses a variance of at least that without Hartung and Knapp's factor; else effects
    that happen to agree closely would have an interval of no width.

    Args:
        effects: ``(k,)``, one per data set.
        errors: ``(k,)``, their standard errors.

    Returns:
        None for fewer than two data sets, of which nothing can be pooled.

    Raises:
        ValueError: If the lengths differ, a number is not finite, or an error is not positive.

    Example:
        >>> found = random_effects([0.02, 0.05, -0.01], [0.01, 0.02, 0.015])
        >>> round(found.mean, 4), round(found.low, 4), round(found.high, 4)
        (0.0181, -0.0524, 0.0886)
        >>> found.few, random_effects([0.02], [0.01]) is None
        (False, True)
    """
    y, v = np.asarray(effects, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    if y.shape != v.shape or y.ndim != 1:
        raise ValueError("there has to be one standard error for each effect")
    if not (np.isfinite(y).all() and np.isfinite(v).all() and (v > 0).all()):
        raise ValueError("effects have to be finite, and their standard errors positive")
    k = len(y)
    if k < 2:
        return None
    # Estimated on effects of about unit size: optimisers have absolute tolerances.
    unit = float(np.median(v)) ** 0.5
    tau2 = _reml(y / unit, v / unit**2) * unit**2
    w = 1 / (v + tau2)
    mean = _mean(y, w)
    factor = float((w * (y - mean) ** 2).sum()) / (k - 1)
    variance = max(1.0, factor) / float(w.sum())
    half = _quantile(k - 1) * variance**0.5
    fixed = 1 / v
    q = float((fixed * (y - _mean(y, fixed)) ** 2).sum())
    typical = (k - 1) * fixed.sum() / (fixed.sum() ** 2 - (fixed**2).sum())
    predicted = None
    if k > 2:
        reach = _quantile(k - 2) * (tau2 + variance) ** 0.5
        predicted = (mean - reach, mean + reach)
    return RandomEffects(
        mean=mean,
        error=variance**0.5,
        low=mean - half,
        high=mean + half,
        tau2=tau2,
        i2=float(tau2 / (tau2 + typical)),
        q=q,
        q_p=float(chdtrc(k - 1, q)),
        predicted=predicted,
        weights=tuple((w / w.sum()).tolist()),
    )


def _mean(y: Array, w: Array) -> float:
    return float((w * y).sum() / w.sum())


def _quantile(df: int) -> float:
    return float(stdtrit(df, (1 + LEVEL) / 2))


def _most(y: Array, v: Array) -> float:
    """A tau^2 above the estimate: no squared residual exceeds twice the sum of squares."""
    return float(4 * ((y - y.mean()) ** 2).sum() + 2 * v.max())


def _reml(y: Array, v: Array) -> float:
    """The tau^2 of the highest restricted likelihood, which may have several peaks."""

    def loss(tau2: float) -> float:
        w = 1 / (v + tau2)
        squares = float((w * (y - _mean(y, w)) ** 2).sum())
        return float(0.5 * (np.log(v + tau2).sum() + np.log(w.sum()) + squares))

    grid = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 200) * _most(y, v)])
    best = int(np.argmin([loss(tau2) for tau2 in grid]))
    ends = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    found = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-12})
    # The minimiser never returns an end itself, and no variance at all is one of them.
    return float(found.x) if found.fun < loss(float(grid[best])) else float(grid[best])
