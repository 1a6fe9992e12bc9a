"""Alignment and uniformity of a run: of all its images, by class, by domain, between domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.estimate import Estimate, Source, Variance, spread
from medldr.evaluation.intervals.inference import inferred
from medldr.evaluation.representation.frame import Line, Options
from medldr.evaluation.representation.sphere import ALIGNMENT, APART, UNIFORMITY, PairScores
from medldr.folders.latents_record import Latents
from medldr.metric import Metric

TRAINING, TEST, ALL = "train", "test", "all"
WITHIN, ACROSS = "alignment_within_domains", "alignment_between_domains"
MEASURES: Final[Mapping[str, Metric]] = {
    ALIGNMENT.name: ALIGNMENT, WITHIN: ALIGNMENT, ACROSS: ALIGNMENT, APART.name: APART,
    UNIFORMITY.name: UNIFORMITY,
}  # fmt: skip
"""What is measured, by its name in the frame. Within and between domains, classes and domains have
the same weights; their difference is 0 where the centres of classes are those of every domain."""
_KEY: Final = ("images", "latents", "of", "name", "measure")


def geometry(latents: Latents, options: Options) -> list[Line]:
    """Alignment and uniformity, with 95% intervals that are of these networks and new groups.

    Args:
        latents: Of a run's images.
        options: How many images and draws.

    Returns:
        By ``images`` (`TRAINING`, `TEST`, which are those of `Latents.tested`, and `ALL`), kind of
        ``latents``, and ``measure``: ``of`` all of them, each class, each domain, and all ``seen``
        and all ``unseen`` domains (of these the test images alone) where there are both. ``n``
        counts the images looked at. A number that makes no sense says why: alignment where images
        have several labels, everything where a latent has no direction.

    Source:
        LatentDR's scores, which the paper gives for a whole data set. To give them by class, by
        domain and between domains is our choice: the method should bring images of a class from
        different domains together.
    """
    masks = {
        TRAINING: latents.split == TRAINING, TEST: latents.tested,
        ALL: np.ones(len(latents), dtype=bool),
    }  # fmt: skip
    return [
        line
        for images, mask in masks.items()
        if mask.any()
        for line in _lines(
            latents.select(mask).at_most(options.items, options.seed), options, images
        )
    ]


def _lines(held: Latents, options: Options, images: str) -> Iterator[Line]:
    for view in held.views:
        for kind, name, rows, numbers in _numbers(held, PairScores(held, view, options)):
            for measure, one in numbers.items():
                yield {
                    "images": images, "latents": view, "of": kind, "name": name,
                    "measure": measure, "n": int(rows.sum()), "held": one,
                }  # fmt: skip


def _numbers(
    held: Latents, scores: PairScores
) -> Iterator[tuple[str, str, NDArray[np.bool_], dict[str, Estimate]]]:
    """What each set of images is, which they are, and its numbers."""
    every, spec = np.ones(len(held), dtype=bool), held.spec
    present = [] if held.label.ndim == 2 else np.unique(held.label).tolist()
    classes = {spec.class_names[k]: held.label == k for k in present}
    domains = {name: held.domain == name for name in spec.domains if name in held.domain}
    known = {"seen": (held.domain != "") & ~held.unseen, "unseen": held.unseen_test}

    def close(ones: Sequence[NDArray[np.bool_]]) -> dict[str, Estimate]:
        apart = scores.across(ones, list(domains.values()))
        names = (ALIGNMENT.name, WITHIN, ACROSS, APART.name)
        return dict(zip(names, (scores.alignment(every, ones), *apart), strict=True))

    yield (
        "all",
        "",
        every,
        {**close([*classes.values()]), UNIFORMITY.name: scores.uniformity(every)},
    )
    for name, mask in classes.items():
        yield "class", name, mask, close([mask])
    sets = [("domain", name, mask) for name, mask in domains.items()]
    if all(mask.any() for mask in known.values()):
        sets += [("domains", name, mask) for name, mask in known.items()]
    for kind, name, mask in sets:
        alignment = scores.alignment(mask, list(classes.values()))
        yield kind, name, mask, {
            ALIGNMENT.name: alignment, UNIFORMITY.name: scores.uniformity(mask),
        }  # fmt: skip


def mean_over_seeds(found: Sequence[list[Line]]) -> list[Line]:
    """Means over the runs of a method, with standard deviations and t intervals.

    The intervals are of the method's mean over seeds on these images; those of a single run, which
    is returned as it is, are of its network and new groups. What any of the runs lacks, as a class
    without images, is left out.

    Args:
        found: The frame of each seed, of one run or more.

    Returns:
        A frame, with numbers of images as the first run has them.
    """
    if len(found) == 1:
        return found[0]
    runs = [{_key(line): line["held"] for line in frame} for frame in found]
    return [
        {**line, "held": mean_of(MEASURES[line["measure"]], [run[_key(line)] for run in runs])}
        for line in found[0]
        if all(_key(line) in run for run in runs)
    ]


def _key(line: Line) -> tuple[object, ...]:
    return tuple(line[column] for column in _KEY)


def mean_of(metric: Metric, each: Sequence[Estimate]) -> Estimate:
    """The mean of one number per seed, over the seeds where it is defined.

    Example:
        >>> found = mean_of(ALIGNMENT, [Estimate(0.5), Estimate(0.6), Estimate(0.7)])
        >>> round(found.mean, 3), round(found.sd, 3), round(found.low, 3), round(found.high, 3)
        (0.6, 0.1, 0.352, 0.848)
    """
    values = [one.mean for one in each if one.mean is not None]
    if not values:
        return replace(each[0], n=0, planned=len(each))
    mean = replace(spread(values), planned=len(each))
    if mean.mean is None or mean.sd is None:
        return replace(mean, reason="no interval: defined for a single seed")
    k = len(values)
    found = inferred(mean.mean, Variance((), (Source(mean.sd**2 / k, k - 1),)), metric)
    return replace(mean, low=found.low, high=found.high, reason=found.reason)
