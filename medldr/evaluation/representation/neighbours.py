"""Nearest neighbours of latents, degraded latents and restored ones: class and domain of each.

The paper says that restored latents are near images of the same class in other domains, the test
domain included, and degraded ones often near images of the same class that look different, or of
another class. These are the shares that show whether it is so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.frame import RECOVERED, Line, Options
from medldr.evaluation.representation.neighbourhoods import KINDS, Neighbourhoods
from medldr.folders.latents_record import DEGRADED, RESTORED, Latents
from medldr.metric import Metric

SAME_BOTH, SAME_CLASS, SAME_DOMAIN, SAME_NEITHER, SAME_UNSEEN = (
    "same_class_same_domain", "same_class_other_domain", "other_class_same_domain",
    "other_class_other_domain", "same_class_unseen_domain",
)  # fmt: skip
ALIKE, UNLIKE = "same_class", "other_class"

SHARES: Final = {
    metric.name: metric
    for metric in (
        Metric(SAME_BOTH, "Same class, same domain",
               "Share of the nearest neighbours with the class and the domain of their query.",
               percent=True, better=""),
        Metric(SAME_CLASS, "Same class, other domain",
               "Share of the nearest neighbours with the class of their query, but another domain: "
               "what a representation that ignores the domain has more of.", percent=True),
        Metric(SAME_DOMAIN, "Other class, same domain",
               "Share of the nearest neighbours with the domain of their query, but another class: "
               "what a representation that follows the domain has more of.",
               percent=True, better="lower"),
        Metric(SAME_NEITHER, "Other class, other domain",
               "Share of the nearest neighbours with neither class nor domain of their query.",
               percent=True, better="lower"),
        Metric(SAME_UNSEEN, "Of these, in an unseen domain",
               "Share of the nearest neighbours with the class of their query, in another domain "
               "that is not among those trained on.", percent=True),
        Metric(ALIKE, "Same class",
               "Share of the nearest neighbours with the class of their query.", percent=True),
        Metric(UNLIKE, "Other class",
               "Share of the nearest neighbours with another class than their query.",
               percent=True, better="lower"),
    )
}  # fmt: skip
"""What each share is. Without domains there are the last two alone."""
_OF_KINDS: Final = {
    SAME_BOTH: (1, 0, 0, 0, 0), SAME_CLASS: (0, 1, 1, 0, 0), SAME_DOMAIN: (0, 0, 0, 1, 0),
    SAME_NEITHER: (0, 0, 0, 0, 1), SAME_UNSEEN: (0, 0, 1, 0, 0), ALIKE: (1, 1, 1, 0, 0),
    UNLIKE: (0, 0, 0, 1, 1),
}  # fmt: skip
_IMPOSSIBLE: Final = Estimate(reason="there is no such image among the possible neighbours")


def neighbours(near: Neighbourhoods, options: Options) -> list[Line]:
    """Shares of the nearest neighbours that have the class or the domain of their query.

    Every query counts alike. Intervals are of new patients (images) that are asked about; the
    images that can be neighbours stay.

    Args:
        near: The nearest neighbours of each query.
        options: How many neighbours there are, and ``draws`` for intervals.

    Returns:
        By part of the ``queries`` (``training``, ``seen``, ``unseen``; without domains
        ``training``, ``other``), ``latents`` and kind of ``neighbours``; with restored latents,
        also what these have more than degraded ones (`RECOVERED`). ``at_random`` is the share among
        all possible neighbours.

    Source:
        The paper's section on nearest neighbours, which shows pictures and no numbers; see
        `medldr.evaluation.representation.neighbourhoods` for what is our choice.
    """
    return [
        line
        for name, mask in near.parts().items()
        for line in _part(near, name, np.flatnonzero(mask), options)
    ]


def _part(
    near: Neighbourhoods, queries: str, rows: NDArray[np.int64], options: Options
) -> Iterator[Line]:
    names = [SAME_BOTH, SAME_CLASS, SAME_UNSEEN, SAME_DOMAIN, SAME_NEITHER]
    names = names if near.domains else [ALIKE, UNLIKE]
    asked = near.queries.select(rows)
    unit = units_of(asked)
    sums = {
        f"{view}/": _means(_shares(counts[rows], names), names).by_group(unit.number, unit.count)
        for view, counts in near.found.items()
    }
    sample = sample_of(unit)
    held = {key: Drawn(*pair, sample) for key, pair in in_draws(sums, unit, options, "").items()}
    chance = _means(_shares(near.chance[rows], names), names).value()
    recovered = [RECOVERED] if {DEGRADED, RESTORED} <= near.found.keys() else []
    for view in (*near.found, *recovered):
        for name in names:
            if chance[name] <= 0:
                share = _IMPOSSIBLE
            elif view == RECOVERED:
                base = held[f"{DEGRADED}/{name}"]
                share = held[f"{RESTORED}/{name}"].minus(base, SHARES[name])
            else:
                share = held[f"{view}/{name}"].estimate(SHARES[name])
            yield {
                "queries": queries, "latents": view, "neighbours": name, "k": options.neighbours,
                "n": len(rows), "at_random": None if view == RECOVERED else chance[name],
                "held": share,
            }  # fmt: skip


def _shares(counts: Array, names: list[str]) -> Array:
    """Counts of kinds as shares by name: ``(Q, len(names))``."""
    parts = np.array([_OF_KINDS[name] for name in names], dtype=np.float64)
    out: Array = counts @ parts.T / counts.sum(axis=1, keepdims=True)
    return out


def _means(values: Array, names: list[str]) -> Sums:
    """Means over queries of ``(Q, len(names))`` values."""
    features = np.concatenate([values.T, np.ones((1, len(values)))])
    return Sums(
        csr_array(features),
        lambda sums: {name: ratio(sums[i], sums[-1]) for i, name in enumerate(names)},
    )


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

    Of the nearest neighbours of images, those of the same class in another domain (SO) and those of
    another class in the same domain (OS) are counted. The index is ``SO / (SO + OS)``: 1 where
    neighbours follow the class, 0 where they follow the domain. Queries that cannot have both kinds
    of neighbours do not count: those whose class is in one domain alone, or whose domain has one
    class alone.

    Args:
        near: The nearest neighbours of each query.
        options: How many neighbours there are, and ``draws`` for intervals.

    Returns:
        By part of the ``queries`` (`ALL`, and ``training``, ``seen`` and ``unseen`` as far as any
        count) and kind of ``latents``; with restored latents, also restored minus degraded
        (`RECOVERED`). Nothing without several domains and classes.

    Source:
        de Jong, Marcus and Teuwen 2025, "Current Pathology Foundation Models are unrobust to
        Medical Center Differences" (arXiv 2501.18055), as ``SO / OS``; ``SO / (SO + OS)`` in Kömen,
        de Jong et al. 2025, PathoROB (arXiv 2507.17845), on subsets in which all pairs of class and
        domain are equally frequent. Our choice: all images stay, and each pair of class and domain
        weighs alike among the queries; what neighbours drawn at random would give is beside it,
        because it is one half only where pairs are equally frequent among the neighbours too.
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
