"""Metrics of ordered classes: how far off a decision is."""

from __future__ import annotations

import numpy as np

from medldr.evaluation.metrics.counts import decide
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio, rows


def distances(items: Items) -> Sums:
    """``quadratic_kappa`` and ``mae`` of the decided class, classes being 1 apart.

    Kappa is one minus the mean squared distance between label and decision over what it would be
    if the two were independent; it is undefined when labels and decisions are all one class.

    Source:
        Cohen 1968, with weights ``(i - j)**2``; equals scikit-learn's
        ``cohen_kappa_score(weights="quadratic")``.
    """
    i = items.number.astype(np.float64)  # in the order of the classes
    j = decide(items.prob, "ordinal").astype(np.float64)

    def finish(sums: Array) -> dict[str, Array]:
        n, i1, i2, j1, j2, squared, absolute = sums
        # With independent label and decision: E (i - j)^2 = E i^2 + E j^2 - 2 E i E j.
        expected = i2 + j2 - 2 * ratio(i1 * j1, n)
        expected = np.where(expected > 1e-9 * n, expected, 0.0)  # rounding is not disagreement
        return {"quadratic_kappa": 1 - ratio(squared, expected), "mae": ratio(absolute, n)}

    return Sums(rows([np.ones(len(i)), i, i**2, j, j**2, (i - j) ** 2, np.abs(i - j)]), finish)
