"""A metric as a function of sums over items, which makes thousands of bootstrap draws cheap.

Every metric here is some arithmetic (`Sums.finish`) on sums over items (`Sums.per_item`): counts
of correct predictions, of wins between pairs of levels, of squared errors. A bootstrap draw is
simply a weight per item, so a draw's metric is the same arithmetic on weighted sums, and all draws
together are one sparse matrix product. Each metric is therefore defined once, for the point
value and for its interval alike.

Everything is float64. In this module NaN means "undefined"; it is never passed on as NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy  # whose parts load when they are used: `medldr plan` uses no matrix
from numpy.typing import NDArray

Array = NDArray[np.float64]
Finish = Callable[[Array], dict[str, Array]]


@dataclass(frozen=True)
class Sums:
    """Metrics that are computed from the same sums over items.

    Attributes:
        per_item: ``(F, N)`` sparse; what each of ``N`` items adds to each of ``F`` sums.
        finish: Sums ``(F, b)`` of ``b`` draws to metrics ``(b,)`` by name, NaN where undefined.
    """

    per_item: scipy.sparse.csr_array
    finish: Finish

    def by_group(self, group: NDArray[np.int64], n_groups: int) -> Sums:
        """The same metrics with one column per group, for weights that belong to groups.

        Args:
            group: ``(N,)`` number of each item's group.
            n_groups: Number of groups of the draw, some of which may have no item here.
        """
        n = len(group)
        member = scipy.sparse.csr_array((np.ones(n), (np.arange(n), group)), shape=(n, n_groups))
        return replace(self, per_item=scipy.sparse.csr_array(self.per_item @ member))

    def draw(self, weights: Array, start: int = 0) -> dict[str, Array]:
        """Metrics ``(b,)`` under weights of the items (or groups).

        Args:
            weights: ``(N, b)``.
            start: Number of the first of these draws, for sums that draw something else as well.
        """
        return self.finish(np.asarray(self.per_item @ weights))

    def value(self) -> dict[str, float]:
        """Metrics with every item counted once, NaN where undefined."""
        ones = np.ones((self.per_item.shape[1], 1))
        return {name: float(value[0]) for name, value in self.draw(ones).items()}


def rows(values: Sequence[NDArray[Any]] | NDArray[Any]) -> scipy.sparse.csr_array:
    """Dense features ``(F, N)``, mostly zero, as the sparse matrix that `Sums` keeps."""
    return scipy.sparse.csr_array(np.asarray(values, dtype=np.float64))


def one_hot(column: NDArray[np.int64], n: int) -> scipy.sparse.csr_array:
    """``(n, N)`` sparse: a one in row ``column[i]`` for item ``i``; -1 gives an empty column."""
    item = np.flatnonzero(column >= 0)
    shape = (n, len(column))
    return scipy.sparse.csr_array((np.ones(len(item)), (column[item], item)), shape=shape)


def ratio(numerator: Array, denominator: Array) -> Array:
    """Quotient, NaN where the denominator is zero.

    Example:
        >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
        array([0.5, nan])
    """
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    out = np.full(denominator.shape, np.nan)
    np.divide(numerator, denominator, out=out, where=denominator != 0)
    return out


def mean_defined(values: Array) -> Array:
    """Mean over the first axis of what is defined; NaN where nothing is.

    Example:
        >>> mean_defined(np.array([[1.0, np.nan], [0.5, np.nan]]))
        array([0.75,  nan])
    """
    defined = ~np.isnan(values)
    return ratio(np.where(defined, values, 0.0).sum(axis=0), defined.sum(axis=0))


def name_each(pattern: str, values: Array) -> dict[str, Array]:
    """One entry per row: ``name_each("class/{}/recall", v)["class/0/recall"]`` is ``v[0]``."""
    return {pattern.format(k): row for k, row in enumerate(values)}
