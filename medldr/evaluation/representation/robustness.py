"""The robustness index: whether near latents share their class or their domain.

Of the nearest neighbours of images, those of the same class in another domain (SO) and those of
another class in the same domain (OS) are counted. The index is ``SO / (SO + OS)``: 1 where
neighbours follow the class, 0 where they follow the domain.

Source:
    de Jong, Marcus and Teuwen 2025, "Current Pathology Foundation Models are unrobust to Medical
    Center Differences" (arXiv 2501.18055), as ``SO / OS``; ``SO / (SO + OS)`` in Kömen, de Jong et
    al. 2025, PathoROB (arXiv 2507.17845), on subsets in which all pairs of class and domain are
    equally frequent. Our choice: all images stay, and each pair of class and domain weighs alike
    among the queries; what neighbours drawn at random would give is beside it, because it is one
    half only where pairs are equally frequent among the neighbours too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.frame import RECOVERED, Line
from medldr.evaluation.representation.neighbourhoods import KINDS, Neighbourhoods
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import DEGRADED, RESTORED, Latents
from medldr.metric import Metric

ALL: Final = "all"
ROBUSTNESS: Final = Metric(
    "robustness_index", "Robustness index",
    "Among the nearest neighbours that share either the class or the domain of an image, but not "
    "both: the share that has its class. 1: neighbours follow the class; 0: they follow the "
    "domain.",
)  # fmt: skip
NONE_COUNTED: Final = "no neighbour shares either the class or the domain alone"

_CLASS_ALONE: Final = [KINDS.index("class"), KINDS.index("unseen")]
_DOMAIN_ALONE: Final = KINDS.index("domain")


def robustness(near: Neighbourhoods, options: Options) -> list[Line]:
    """The robustness index with its 95% interval, and what it would be at random.

    Queries that cannot have both kinds of neighbours do not count: those whose class is in one
    domain alone, or whose domain has one class alone.

    Args:
        near: What lies near each query.
        options: How many neighbours there are, and ``draws`` for intervals.

    Returns:
        By part of the ``queries`` (`ALL`, and ``training``, ``seen`` and ``unseen`` as far as any
        count) and kind of ``latents``; with restored latents, also restored minus degraded
        (`RECOVERED`). Nothing without several domains and classes.
    """
    judged = (near.chance[:, _CLASS_ALONE].sum(axis=1) > 0) & (near.chance[:, _DOMAIN_ALONE] > 0)
    masks = {ALL: judged} | {name: judged & mask for name, mask in near.parts().items()}
    return [
        line
        for name, mask in masks.items()
        if mask.any()
        for line in _index(near, name, np.flatnonzero(mask), options)
    ]


def _index(
    near: Neighbourhoods, queries: str, rows: NDArray[np.int64], options: Options
) -> Iterator[Line]:
    asked = near.queries.select(rows)
    weight = _weights(asked)
    unit = units_of(asked)
    sums = _sums({view: found[rows] for view, found in near.found.items()}, weight)
    drawn = in_draws({"": sums.by_group(unit.number, unit.count)}, unit, options, "")
    held = {
        view: Drawn(*pair, sample_of(unit), NONE_COUNTED if np.isnan(pair[0]) else "")
        for view, pair in drawn.items()
    }
    chance: float | None = _sums({"": near.chance[rows]}, weight).value()[""]
    found = {view: (chance, one.estimate(ROBUSTNESS)) for view, one in held.items()}
    if {DEGRADED, RESTORED} <= held.keys():
        found[RECOVERED] = (None, held[RESTORED].minus(held[DEGRADED], ROBUSTNESS))
    for view, (level, one) in found.items():
        yield {
            "queries": queries, "latents": view, "k": options.neighbours, "n": len(rows),
            "at_random": level, "held": one,
        }  # fmt: skip


def _weights(asked: Latents) -> Array:
    """Weight of each query: one over the number of queries of its class in its domain."""
    facts = [np.unique(column, return_inverse=True)[1] for column in (asked.label, asked.domain)]
    _, place, sizes = np.unique(
        np.stack(facts), axis=1, return_inverse=True, return_counts=True
    )  # fmt: skip
    out: Array = 1 / sizes[place.ravel()]
    return out


def _sums(counts: Mapping[str, Array], weight: Array) -> Sums:
    """The index of each view as arithmetic on sums over queries."""
    rows = [
        weight * values
        for found in counts.values()
        for values in (found[:, _CLASS_ALONE].sum(axis=1), found[:, _DOMAIN_ALONE])
    ]
    return Sums(
        csr_array(np.stack(rows)),
        lambda sums: {
            name: ratio(sums[2 * i], sums[2 * i] + sums[2 * i + 1]) for i, name in enumerate(counts)
        },
    )
