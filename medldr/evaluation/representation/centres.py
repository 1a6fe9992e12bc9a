"""Distances between domains: how far apart the latents of one class are in two domains.

Source:
    The paper has no such number. Our choice: the squared euclidean distance between the mean
    latents of a class in two domains, averaged over the classes that both have, in units of the
    mean variance of latents of one class in one domain (the sum over coordinates). So 1 is one
    standard deviation, squared, whatever the scale of the latents, and 0 is no difference.
    Means of few images differ by chance; the distance is corrected for that (Gretton et al. 2012,
    the unbiased maximum mean discrepancy with a linear kernel), so it can be slightly below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array, mean_defined, ratio
from medldr.evaluation.representation.cells import ClassSums, class_sums
from medldr.evaluation.representation.drawn import Drawn, sample_of, units_of
from medldr.evaluation.representation.frame import Line
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

DISTANCE: Final = Metric(
    "domain_distance", "Distance between domains",
    "Squared distance between the mean latents of a class in two domains, averaged over classes, "
    "in units of the variance within a class and domain: 1 is one standard deviation.",
    better="lower", range=(-np.inf, np.inf),
)  # fmt: skip
ROUNDING: Final = 1e-12
"""A variance below this share of the mean squared length of latents is an error of rounding."""
NO_CLASS: Final = "no class has enough images in both domains"

PAIR, OVERALL, OF_SEEN, NEAREST = (
    "pair", "mean over pairs", "mean over pairs of seen domains", "nearest seen domain",
)  # fmt: skip


def centres(latents: Latents, options: Options) -> list[Line]:
    """Distances between domains within classes, from the latents of unmodified images.

    Args:
        latents: Of a run. Rows that are not finite, or have no domain, are left out.
        options: Number and seed of the draws of groups.

    Returns:
        The distance ``of`` each pair of domains, seen ones first (`PAIR`), the mean over all pairs
        (`OVERALL`) and over those of seen domains (`OF_SEEN`), and of each unseen domain from the
        seen one that is nearest here (`NEAREST`); ``unseen`` names the domains of a pair that
        training has not seen. Nothing for fewer than two domains, where an image can have several
        labels, or where no two domains share a class of which each has two groups.
    """
    if latents.label.ndim != 1:
        return []
    held = latents.select(np.isfinite(latents.z).all(axis=1) & (latents.domain != ""))
    new = sorted(set(held.domain[held.unseen].tolist()))
    names = [*sorted(set(held.domain.tolist()) - set(new)), *new]
    pairs = list(combinations(names, 2))
    if not pairs:
        return []
    unit = units_of(held)
    place = np.array([names.index(name) for name in held.domain.tolist()])
    z = held.z.astype(np.float64)
    z -= z.mean(axis=0)
    least = ROUNDING * float((held.z.astype(np.float64) ** 2).sum(axis=1).mean())
    sums = class_sums(z, np.asarray(held.label), place, unit.number, len(names))
    value = _distances(sums, np.ones((unit.count, 1)), len(names), least)
    if np.isnan(value).all():
        return []
    generator = stream(options.seed, "centres")
    rows = z.shape[1] * len(names)
    draws = np.concatenate(
        [_distances(sums, w, len(names), least)
         for w in group_weights(unit.count, options.draws, generator, rows)], axis=1,
    )  # fmt: skip

    def over(chosen: Sequence[int]) -> Estimate:
        rows = list(chosen)
        inside = np.isin(held.domain, [name for row in rows for name in pairs[row]])
        mean = float(mean_defined(value[rows])[0])
        reason = NO_CLASS if np.isnan(mean) else ""
        drawn = mean_defined(draws[rows])
        return Drawn(mean, drawn, sample_of(unit, inside), reason).estimate(DISTANCE)

    def line(kind: str, estimate: Estimate, one: str = "", other: str = "") -> Line:
        unseen = tuple(name for name in (one, other) if name in new)
        return {
            "of": kind, "domain": one, "other_domain": other, "unseen": unseen, "held": estimate,
        }  # fmt: skip

    frame = [line(PAIR, over([row]), *pair) for row, pair in enumerate(pairs)]
    frame.append(line(OVERALL, over(range(len(pairs)))))
    known = [row for row, pair in enumerate(pairs) if not set(pair) & set(new)]
    if known:
        frame.append(line(OF_SEEN, over(known)))
    for name in new:
        to_seen = [
            (value[row, 0], row)
            for row, pair in enumerate(pairs)
            if pair[1] == name and pair[0] not in new and not np.isnan(value[row, 0])
        ]
        if to_seen:
            row = min(to_seen)[1]
            frame.append(line(NEAREST, over([row]), *pairs[row]))
    return frame


def _distances(sums: Sequence[ClassSums], weights: Array, domains: int, least: float) -> Array:
    """Distance of each pair of domains in each draw: ``(pairs, b)``, NaN where undefined.

    Args:
        sums: Of each class.
        weights: ``(G, b)``, how often each group is drawn.
        domains: How many.
        least: A variance that is not more than this is an error of rounding.
    """
    one, two = np.triu_indices(domains, 1)  # in the order of combinations
    between, within = [], []
    for of_class in sums:
        far = of_class.squared(weights)
        variance = np.einsum("aab->ab", far) / 2
        between.append(far[one, two] - variance[one] - variance[two])
        within.append(variance)
    unit = mean_defined(np.concatenate(within))
    return ratio(mean_defined(np.stack(between)), np.where(unit > least, unit, 0.0))
