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

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.nearest import Distance
from medldr.evaluation.representation.neighbourhoods import KINDS, Neighbourhoods, neighbourhoods
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import DEGRADED, RESTORED, Latents
from medldr.metric import Metric

Weights: TypeAlias = Literal["cells", "classes", "images"]

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


@dataclass(frozen=True)
class Index:
    """The robustness index of one part of the queries.

    Attributes:
        n: Queries that count.
        chance: The index if neighbours were drawn at random.
        views: The index by kind of latents.
        recovered: Restored minus degraded, of the same queries; None where there are none.
    """

    n: int
    chance: float
    views: Mapping[str, Estimate]
    recovered: Estimate | None


@dataclass(frozen=True)
class Robustness:
    """Whether near latents of a run share their class or their domain.

    Attributes:
        k: Neighbours of each query.
        parts: By name: ``all`` queries, and ``training``, ``seen`` and ``unseen`` as far as any
            count.
    """

    k: int
    parts: Mapping[str, Index]


def robustness(
    latents: Latents,
    options: Options,
    *,
    k: int | None = None,
    weights: Weights = "cells",
    distance: Distance = "cosine",
    near: Neighbourhoods | None = None,
) -> Robustness | None:
    """The robustness index with its 95% interval, and what it would be at random.

    Queries that cannot have both kinds of neighbours do not count: those whose class is in one
    domain alone, or whose domain has one class alone.

    Args:
        latents: Of a run.
        options: ``neighbours`` of each of at most ``items`` queries; ``draws`` for intervals.
        k: Neighbours of each query; None: those of the options.
        weights: What weighs alike: each pair of class and domain (``cells``), each class, or each
            of the ``images``, as where the data are balanced by design.
        distance: ``cosine`` or ``euclidean``.
        near: What `neighbourhoods` has found with the same settings, which saves a second search.

    Returns:
        None without several domains and classes, or where an image can have several labels.
    """
    count = options.neighbours if k is None else k
    asked = replace(options, neighbours=count)
    near = near or neighbourhoods(latents, asked, distance=distance)
    if near is None:
        return None
    judged = (near.chance[:, _CLASS_ALONE].sum(axis=1) > 0) & (near.chance[:, _DOMAIN_ALONE] > 0)
    masks = {ALL: judged} | {name: judged & mask for name, mask in near.parts().items()}
    parts = {
        name: _index(near, np.flatnonzero(mask), weights, options)
        for name, mask in masks.items()
        if mask.any()
    }
    return Robustness(count, parts) if parts else None


def _index(
    near: Neighbourhoods, rows: NDArray[np.int64], weights: Weights, options: Options
) -> Index:
    asked = near.queries.select(rows)
    weight = _weights(asked, weights)
    counts = {view: found[rows] for view, found in near.found.items()}
    unit = units_of(asked)
    sums = _sums(counts, weight).by_group(unit.number, unit.count)
    held = {
        view: Drawn(*pair, sample_of(unit), NONE_COUNTED if np.isnan(pair[0]) else "")
        for view, pair in in_draws({"": sums}, unit, options, "").items()
    }
    return Index(
        n=len(rows),
        chance=_sums({"": near.chance[rows]}, weight).value()[""],
        views={view: measured.estimate(ROBUSTNESS) for view, measured in held.items()},
        recovered=held[RESTORED].minus(held[DEGRADED], ROBUSTNESS)
        if {DEGRADED, RESTORED} <= held.keys()
        else None,
    )


def _weights(asked: Latents, kind: Weights) -> Array:
    """Weight of each query: one over the number of queries that it shares its weight with."""
    facts = [np.unique(column, return_inverse=True)[1] for column in (asked.label, asked.domain)]
    shared = np.stack(facts[: {"images": 0, "classes": 1, "cells": 2}[kind]] or [0 * facts[0]])
    _, place, sizes = np.unique(shared, axis=1, return_inverse=True, return_counts=True)
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
