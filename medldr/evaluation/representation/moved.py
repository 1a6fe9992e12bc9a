"""How far degraded and restored latents are from the originals, and what they come to lie near.

Source:
    Paper, appendix: "restored latents typically are far away from the original latents", shown in a
    figure without a number. The numbers are our choice, and so is their unit: 1 is as far as the
    nearest other training image, or as far as another one of the class is on average. Images of the
    same group (patient, slide) are no neighbours and no pair, being near for another reason.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.single_run import Sample
from medldr.evaluation.metrics.sums import Array, ratio
from medldr.evaluation.representation.drawn import Drawn, sample_of, units_of
from medldr.evaluation.representation.frame import Line, Options
from medldr.evaluation.representation.planes import finite
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

PER_NEAREST: Final = Metric(
    "moved_per_nearest", "Moved (nearest image = 1)",
    "Mean distance of a latent from its original, divided by the mean distance of a training image "
    "from the nearest one of another patient (another image where there are no patients).",
    better="", range=(0.0, float("inf")),
)  # fmt: skip
PER_CLASS: Final = Metric(
    "moved_per_class", "Moved (same class = 1)",
    "Mean distance of a latent from its original, divided by the mean distance of a training image "
    "from the others of its class.",
    better="", range=(0.0, float("inf")),
)  # fmt: skip
SAME_CLASS: Final = Metric(
    "nearest_same_class", "Nearest: same class",
    "Share of latents whose nearest training image, apart from those of the same patient, is of "
    "the same class.",
    percent=True, better="", share="items",
)  # fmt: skip
OTHER_DOMAIN: Final = Metric(
    "nearest_other_domain", "Nearest: other domain",
    "Share of latents whose nearest training image, apart from those of the same patient, is of "
    "another domain.",
    percent=True, better="", share="items",
)  # fmt: skip
METRICS: Final = (PER_NEAREST, PER_CLASS, SAME_CLASS, OTHER_DOMAIN)

FEW: Final = "fewer than two groups of training images (images where there are no groups)"
SEVERAL: Final = "images have several labels"
ALONE: Final = "no class has images of two groups"
ONE_DOMAIN: Final = "training images are not of several domains"
SAME: Final = "training images have the same latents"


def moved(latents: Latents, view: str, options: Options) -> list[Line]:
    """How far degraded or restored training latents are from the originals.

    Intervals are of drawn groups. Each image's nearest neighbour is taken as it is: drawn groups
    would offer fewer neighbours.

    Args:
        latents: Those of the run; at most ``options.items`` training images are taken.
        view: ``degraded`` or ``restored``.
        options: Draws and their seed.

    Returns:
        A line for each of `METRICS`; ``images`` counts the training images they are of.
    """
    usable = (latents.split == "train") & finite(latents.z) & finite(latents.views[view].z)
    held = latents.select(usable).at_most(options.items, options.seed)
    unit = units_of(held)

    def lines(*numbers: Estimate) -> list[Line]:
        return [
            {"kind": "number", "latents": view, "metric": metric.name, "held": one,
             "images": len(held)}
            for metric, one in zip(METRICS, numbers, strict=True)
        ]  # fmt: skip

    if unit.count < 2:
        return lines(*[Estimate(reason=FEW)] * len(METRICS))
    z, other = held.z.astype(np.float64), held.views[view].z.astype(np.float64)
    apart = unit.number[:, None] != unit.number
    between = _distances(z, z)
    far = np.linalg.norm(other - z, axis=1)
    near = np.where(apart, between, np.inf).min(axis=1)
    nearest = np.where(apart, _distances(other, z), np.inf).argmin(axis=1)
    sample = sample_of(unit)
    weights = np.concatenate(
        [w[unit.number] for w in group_weights(
            unit.count, options.draws, stream(options.seed, "moved"), len(z))], axis=1
    )  # fmt: skip

    def share(metric: Metric, hit: NDArray[np.bool_]) -> Estimate:
        hits = hit.astype(np.float64)
        return _ratio(hits, np.ones(len(z)), weights, sample, "").estimate(metric)

    several, domain = held.label.ndim == 2, held.domain
    named = len(np.unique(domain[domain != ""])) > 1 and (domain != "").all()
    return lines(
        _ratio(far, near, weights, sample, SAME).estimate(PER_NEAREST),
        Estimate(reason=SEVERAL) if several
        else _per_class(far, between, apart & (held.label[:, None] == held.label), weights, sample),
        Estimate(reason=SEVERAL) if several
        else share(SAME_CLASS, held.label[nearest] == held.label),
        share(OTHER_DOMAIN, domain[nearest] != domain) if named else Estimate(reason=ONE_DOMAIN),
    )  # fmt: skip


def _distances(a: Array, b: Array) -> Array:
    """``(A, B)`` euclidean distances."""
    from sklearn.metrics import euclidean_distances  # slow to import

    middle = b.mean(axis=0)  # far from the origin, differences of squares would lose digits
    out: Array = euclidean_distances(a - middle, b - middle)
    return out


def _per_class(
    far: Array, between: Array, pair: NDArray[np.bool_], weights: Array, sample: Sample
) -> Estimate:
    """Distances from the originals over the mean distance within classes, of each image's mean."""
    ones = np.ones((len(far), 1))
    within, count = np.where(pair, between, 0.0), pair.astype(np.float64)

    def value(w: Array) -> Array:
        mean = ratio(within @ w, count @ w)  # of each image to the others that were drawn
        there = ~np.isnan(mean)
        spread = ratio((w * np.where(there, mean, 0.0)).sum(axis=0), (w * there).sum(axis=0))
        return ratio((w * far[:, None]).sum(axis=0) / w.sum(axis=0), spread)

    if not pair.any():
        return Estimate(reason=ALONE)
    found = Drawn(float(value(ones)[0]), value(weights), sample, SAME)
    return found.estimate(PER_CLASS)


def _ratio(above: Array, below: Array, weights: Array, sample: Sample, reason: str) -> Drawn:
    """A ratio of sums over images."""
    value = float(ratio(above.sum(), below.sum()))
    return Drawn(value, ratio(above @ weights, below @ weights), sample, reason)
