"""How often each class occurs in a split, and whether two splits differ in that.

Accuracy and the calibration of a network change with the class mix alone, so a difference between
two splits whose mixes differ is no pure difference of their images.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medldr.evaluation.metrics.sums import Array
from medldr.types import Task

MOST = 0.05
"""Mixes that are further apart than this, and than chance explains, are reported."""
NAMED = 3
SAMPLES = 500
"""Draws of two mixes that are equal, for what chance alone does."""


def shares(truth: Array) -> Array:
    """``(K,)`` share of the items with a known label; NaN for a label that no item knows.

    Args:
        truth: ``(N, K)`` of 1, 0 and NaN (missing).

    Example:
        >>> shares(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, np.nan], [0.0, 1.0]])).round(3)
        array([0.5  , 0.333])
    """
    known = (~np.isnan(truth)).sum(axis=0)
    found: Array = np.where(known > 0, np.nansum(truth, axis=0) / np.maximum(known, 1), np.nan)
    return found


def distance(one: Array, other: Array, task: Task) -> float:
    """How far two mixes are apart, from 0 to 1.

    Total variation distance: the least share of one split's items that would need another class to
    give the mix of the other. Of several labels per image: the largest difference of any label.

    Args:
        one: ``(K,)`` shares.
        other: ``(K,)`` shares of another split.
        task: Kind of labels.

    Example:
        >>> mixes = np.array([0.5, 0.3, 0.2]), np.array([0.3, 0.3, 0.4])
        >>> round(distance(*mixes, "multi-class"), 6)
        0.2
    """
    apart = np.abs(one - other)
    apart = apart[~np.isnan(apart)]
    if not len(apart):
        return 0.0
    return float(apart.max() if task == "multi-label" else apart.sum() / 2)


def note(
    seen: Array, unseen: Array, names: Sequence[str], task: Task, items: tuple[int, int]
) -> str | None:
    """What to say of a gap between splits whose mixes differ; None where they hardly do.

    Args:
        seen: ``(K,)`` shares in the seen split.
        unseen: ``(K,)`` shares in the unseen split.
        names: ``(K,)`` names of the classes.
        task: Kind of labels.
        items: Images of each split; few of them differ in their mix by chance alone. Not patients:
            where the images of a few patients make the mix, it is another mix all the same.

    Example:
        >>> mixes = np.array([0.8, 0.2]), np.array([0.55, 0.45])
        >>> print(note(*mixes, ["normal", "tumour"], "binary", (200, 200)))
        The class mix differs: normal 80% seen, 55% unseen; tumour 20% seen, 45% unseen (total \
variation distance 25 percentage points, reported above 5). Part of the gap may come from it.
        >>> note(*mixes, ["normal", "tumour"], "binary", (12, 12))
        >>> near = np.array([0.8, 0.2]), np.array([0.76, 0.24])
        >>> note(*near, ["normal", "tumour"], "binary", (9000, 9000))
    """
    apart = distance(seen, unseen, task)
    if apart <= max(MOST, by_chance(seen, unseen, task, items)):
        return None
    gaps = np.abs(seen - unseen)
    widest = [k for k in np.argsort(-gaps, kind="stable").tolist() if not np.isnan(gaps[k])][:NAMED]
    told = [f"{names[k]} {seen[k]:.0%} seen, {unseen[k]:.0%} unseen" for k in sorted(widest)]
    what = "largest difference" if task == "multi-label" else "total variation distance"
    return (
        f"The class mix differs: {'; '.join(told)} ({what} {100 * apart:.0f} percentage points, "
        f"reported above {100 * MOST:.0f}). Part of the gap may come from it."
    )


def by_chance(seen: Array, unseen: Array, task: Task, items: tuple[int, int]) -> float:
    """How far apart splits of one mix are in at most 95% of samples."""
    sizes = np.array(items, dtype=np.float64)
    known = ~np.isnan(seen + unseen)
    if not known.any() or not sizes.all():
        return 0.0
    shares = (sizes[0] * seen[known] + sizes[1] * unseen[known]) / sizes.sum()
    rng = np.random.default_rng(0)
    if task == "multi-label":
        drawn = [rng.binomial(n, shares, size=(SAMPLES, len(shares))) / n for n in items]
    else:
        drawn = [rng.multinomial(n, shares / shares.sum(), size=SAMPLES) / n for n in items]
    apart = [distance(one, other, task) for one, other in zip(*drawn, strict=True)]
    return float(np.quantile(apart, 0.95))
