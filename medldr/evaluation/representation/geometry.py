"""Alignment and uniformity of a run: of all its images, by class, by domain, between domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.pair_scores import PairScores
from medldr.folders.latents_record import ORIGINAL, Latents

TRAINING, TEST, ALL = "train", "test", "all"


@dataclass(frozen=True)
class Closeness:
    """How close images of the same class are.

    Attributes:
        n: Images.
        alignment: Over all pairs of a class.
        within: Over those of one domain, in classes that have pairs of both kinds.
        across: Over those of different domains, with the same weights of classes and domains.
        apart: `across` minus `within`: 0 where the centres of classes are those of every domain.
    """

    n: int
    alignment: Estimate
    within: Estimate
    across: Estimate
    apart: Estimate


@dataclass(frozen=True)
class Spread:
    """Images of one or of several domains.

    Attributes:
        n: Images.
        seen: Whether they are of domains that training saw.
        domains: How many domains they are of.
        alignment: Over pairs of a class.
        uniformity: Over all pairs.
    """

    n: int
    seen: bool
    domains: int
    alignment: Estimate
    uniformity: Estimate


@dataclass(frozen=True)
class Part:
    """One kind of latents of some images.

    Attributes:
        split: The split that the images are of, or `ALL`.
        unseen: Whether all are of domains that training has not seen.
        of: How many images there are; those looked at are at most `Options.items`.
        closeness: How close images of the same class are.
        uniformity: Over all pairs.
        classes: How close the images of each class are, by its name.
        domains: Each domain, by its name; empty where images have none.
        together: All images of domains that training saw (`True`) and all test images of others;
            empty unless there are both.
    """

    split: str
    unseen: bool
    of: int
    closeness: Closeness
    uniformity: Estimate
    classes: Mapping[str, Closeness] = field(default_factory=dict)
    domains: Mapping[str, Spread] = field(default_factory=dict)
    together: Mapping[bool, Spread] = field(default_factory=dict)


@dataclass(frozen=True)
class Geometry:
    """Alignment and uniformity of a run, or means over runs that differ in their seed.

    Attributes:
        parts: By images (`TRAINING`, `TEST`, `ALL`), then by kind of latents (original, degraded,
            restored), as far as there are any. `TEST` are those of `Latents.tested`.
    """

    parts: Mapping[str, Mapping[str, Part]]

    @property
    def main(self) -> Part:
        """Original latents of the test images, or of all where there are none."""
        return self.parts[TEST if TEST in self.parts else ALL][ORIGINAL]


def geometry(latents: Latents, options: Options) -> Geometry | None:
    """Alignment and uniformity, with 95% intervals that are of these networks and new groups.

    Args:
        latents: Of a run's images.
        options: How many images and draws, and the weights of classes.

    Returns:
        None where there are no images. A number that makes no sense says why: alignment where
        images have several labels, everything where a latent has no direction.

    Source:
        LatentDR's scores, which the paper gives for a whole data set. To give them by class, by
        domain and between domains is our choice: the method should bring images of a class from
        different domains together.
    """
    masks = {
        TRAINING: (TRAINING, latents.split == TRAINING),
        TEST: (latents.tested_split, latents.tested),
        ALL: (ALL, np.ones(len(latents), dtype=bool)),
    }
    parts = {
        name: _views(latents.select(mask), split, options)
        for name, (split, mask) in masks.items()
        if mask.any()
    }
    return Geometry(parts) if parts else None


def _views(those: Latents, split: str, options: Options) -> dict[str, Part]:
    held = those.at_most(options.items, options.seed)
    return {
        view: _part(PairScores(held, view, options), held, split, len(those)) for view in held.views
    }


def _part(scores: PairScores, held: Latents, split: str, of: int) -> Part:
    everything, spec = np.ones(len(held), dtype=bool), held.spec
    several = held.label.ndim == 2
    present = [] if several else np.unique(held.label).tolist()
    classes = {spec.class_names[k]: held.label == k for k in present}
    domains = {name: held.domain == name for name in spec.domains if name in held.domain}
    known = {True: (held.domain != "") & ~held.unseen, False: held.unseen_test}

    def close(ones: Sequence[NDArray[np.bool_]], n: int) -> Closeness:
        alignment = scores.alignment(everything, ones)
        return Closeness(n, alignment, *scores.across(ones, list(domains.values())))

    def spread(mask: NDArray[np.bool_], seen: bool) -> Spread:
        alignment = scores.alignment(mask, list(classes.values()))
        sources = len(np.unique(held.domain[mask]))
        return Spread(int(mask.sum()), seen, sources, alignment, scores.uniformity(mask))

    return Part(
        split=split,
        unseen=bool(held.unseen.all()),
        of=of,
        closeness=close(list(classes.values()), len(held)),
        uniformity=scores.uniformity(everything),
        classes={name: close([mask], int(mask.sum())) for name, mask in classes.items()},
        domains={name: spread(m, name in spec.train_domains) for name, m in domains.items()},
        together={seen: spread(mask, seen) for seen, mask in known.items()}
        if all(mask.any() for mask in known.values())
        else {},
    )
