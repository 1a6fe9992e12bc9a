"""Numbers of the same images in the same draws of groups, with intervals, also of differences.

Groups (patients, slides; images where there are none) are drawn with replacement, the same ones for
every number, so that a difference of two of them is a paired one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import Units, resample, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import Scores, inferred, of_difference
from medldr.evaluation.intervals.single_run import Sample, number
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.evaluation.representation.frame import Options
from medldr.folders.evaluation_record import Number
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

UNDEFINED = "undefined"


@dataclass(frozen=True)
class Drawn:
    """A number, and what it is in every draw.

    Attributes:
        value: The number; NaN where it is undefined.
        draws: ``(draws,)``, NaN where undefined.
        sample: What it was measured on.
        reason: Why it is undefined, else empty.
    """

    value: float
    draws: Array = field(repr=False)
    sample: Sample
    reason: str = ""

    def estimate(self, metric: Metric) -> Estimate:
        """It with its 95% interval, as the metrics of a run have it."""
        found = number(metric, self.value, self.draws, self.sample, self.reason or UNDEFINED)
        found.pop("undefined_draws", None)
        return Estimate.of(Number(**found))

    def minus(self, other: Drawn, metric: Metric) -> Estimate:
        """This less another one in the same draws, with the 95% interval of the paired difference.

        Source:
            Our choice, as for two runs of one seed each: Student's t with one degree of freedom
            fewer than there are groups.
        """
        one, base = (Scores(np.array([m.value]), m.draws[None]) for m in (self, other))
        units = min(self.sample.units, other.sample.units)
        reason = self.reason or other.reason or UNDEFINED
        variance = of_difference(one, base, units)
        found = inferred(self.value - other.value, variance, reason=reason, span=metric.span)
        return replace(found, variance=None)


def units_of(latents: Latents) -> Units:
    """What a draw samples: groups where any image has one, else images."""
    unique, place = np.unique(latents.units, return_inverse=True)
    kind = "group" if bool((latents.group >= 0).any()) else "item"
    return Units(kind, place.astype(np.int64), unique.astype(np.str_))


def in_draws(
    parts: Mapping[str, Sums], unit: Units, options: Options, name: str
) -> dict[str, tuple[float, Array]]:
    """Every number and its draws, by the name of its part and its own.

    Args:
        parts: By prefix; one column of `Sums.per_item` per unit.
        unit: What is drawn.
        options: Number and seed of the draws.
        name: Of these images: equal names, seeds and numbers of units give equal draws.

    Returns:
        The number, NaN where undefined, and ``(draws,)``.
    """
    generator = stream(options.seed, name)
    drawn = resample(parts.items(), unit, draws=options.draws, generator=generator)
    values = {prefix + key: v for prefix, sums in parts.items() for key, v in sums.value().items()}
    return {key: (values[key], drawn[key]) for key in values}


def sample_of(unit: Units, rows: NDArray[np.bool_] | slice = slice(None)) -> Sample:
    """What a number of some rows is measured on."""
    number = unit.number[rows]
    return Sample(len(np.unique(number)), unit.grouped, len(number))
