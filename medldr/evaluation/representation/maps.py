"""Maps of a run's latents, comparable between runs: the same images, turned to fit the first run.

Source:
    Paper, appendix: t-SNE of the latents of the held-out domain, for four methods side by side. Our
    choice: besides, all images, by PCA and t-SNE; which images, and how maps are made comparable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.frame import Line, Options
from medldr.evaluation.representation.planes import (
    FEWEST,
    Plane,
    balanced_order,
    finite,
    no_map,
    principal_plane,
    t_sne,
    turned_onto,
)
from medldr.folders.latents_record import Latents

Method = Literal["pca", "t-sne"]
Part = Literal["all", "unseen", "test", "validation"]
METHODS: Final = {"pca": "PCA", "t-sne": "t-SNE"}
PARTS: Final = {
    "all": "all images", "unseen": "test images of unseen domains", "test": "test images",
    "validation": "validation images",
}  # fmt: skip
KINDS: Final[tuple[tuple[Method, bool], ...]] = (("pca", False), ("t-sne", False), ("t-sne", True))
"""Each map of a run: how it is made, and whether of the test alone."""


@dataclass(frozen=True)
class Map:
    """One map; however few of its first images are shown, domains and splits are balanced.

    Attributes:
        method: How it was made.
        part: Of which images: all, test images of unseen domains, or (where there are none) those
            that stand for the test, which may be validation images.
        images: How many such images the run has.
        left_out: How many of them have latents that are not finite.
        row: ``(N,)`` row of the dataset's table.
        split: ``(N,)`` text.
        domain: ``(N,)`` text, empty where there is none.
        unseen: ``(N,)`` whether the domain was unseen in training.
        label: ``(N,)`` class, -1 where images have several labels.
        xy: ``(N, 2)`` points.
        share: Share of the variance that the plane holds, by PCA.
        perplexity: Of t-SNE.
        fitted: Whether it was turned to fit the map of another run.
        reason: Why it has no points; else empty.
    """

    method: Method
    part: Part
    images: int
    left_out: int
    row: NDArray[np.int64]
    split: NDArray[np.str_]
    domain: NDArray[np.str_]
    unseen: NDArray[np.bool_]
    label: NDArray[np.int64]
    xy: Array
    share: float | None = None
    perplexity: float | None = None
    fitted: bool = False
    reason: str = ""

    def __len__(self) -> int:
        return len(self.xy)


@dataclass(frozen=True)
class Maps:
    """The maps of a run.

    Attributes:
        class_names: One per class; empty where images have several labels.
        maps: By PCA and by t-SNE of all images, and by t-SNE of the test alone, if it is not all.
    """

    class_names: tuple[str, ...]
    maps: tuple[Map, ...]

    @property
    def missing(self) -> list[str]:
        """A sentence for each part of the images that has no map."""
        said = []
        for part, title in PARTS.items():
            without = [made for made in self.maps if made.part == part and made.reason]
            if without:
                kinds = " or ".join(METHODS[made.method] for made in without)
                lost, images = without[0].left_out, without[0].images
                left = f" ({lost:,} of {images:,} are not finite)" if lost else ""
                said.append(f"no map of {title} by {kinds}, because {without[0].reason}{left}.")
        return said

    def points(self) -> list[Line]:
        """The points of all maps, with nothing that names an image; a map without is one line."""
        lines: list[Line] = []
        for made in self.maps:
            shared = {"kind": made.method, "images": made.part}
            if made.reason:
                empty = dict.fromkeys(("split", "domain", "class", "unseen", "x", "y"), "")
                lines.append({**shared, **empty, "reason": made.reason})
            columns = zip(made.split, made.domain, made.unseen, made.label, made.xy, strict=True)
            lines += [
                {**shared, "split": str(split), "domain": str(domain),
                 "class": self.class_names[k] if self.class_names else "", "unseen": bool(unseen),
                 "x": round(float(x), 4), "y": round(float(y), 4), "reason": ""}
                for split, domain, unseen, k, (x, y) in columns
            ]  # fmt: skip
        return lines


def maps(latents: Latents, options: Options, reference: Maps | None = None) -> Maps:
    """Maps of the original latents of a run.

    Args:
        latents: Those of the run.
        options: ``points`` is the most images of a map.
        reference: Maps of the first run. Where it is of the same data, the same images are shown,
            t-SNE starts from its points, and both maps are turned to fit it.

    Returns:
        Maps without points, and the reason, where there are fewer than four images with finite
        latents or all latents are the same.
    """
    several = latents.label.ndim == 2
    names = () if several else latents.spec.class_names
    known = {} if reference is None else {(m.method, m.part): m for m in reference.maps}
    if reference is not None and reference.class_names != names:
        known = {}
    part, test = _test(latents)
    found = []
    for method, alone in KINDS:
        if alone and test.all():
            continue
        chosen: Part = part if alone else "all"
        held = latents.select(test) if alone else latents
        found.append(_map(held, method, chosen, options, known.get((method, chosen))))
    return Maps(names, tuple(found))


def _test(latents: Latents) -> tuple[Part, NDArray[np.bool_]]:
    """Which images stand for the test: those of unseen domains, or of `Latents.tested`."""
    unseen = latents.unseen_test
    if unseen.any():
        return "unseen", unseen
    return "validation" if latents.tested_split.endswith("val") else "test", latents.tested


def _map(
    latents: Latents, method: Method, part: Part, options: Options, reference: Map | None
) -> Map:
    usable = finite(latents.z)
    images, left_out = len(latents), int((~usable).sum())
    latents = latents.select(usable)
    cells = np.char.add(np.char.add(latents.domain, "\n"), latents.split)
    order = balanced_order(cells, options.seed)[: options.points]
    start = None
    if reference is not None:
        shared, there = _shared(latents, reference)
        if len(shared) >= FEWEST:
            order, start = shared, reference.xy[there]
    shown = latents.select(order)
    reason = no_map(shown.z)
    made = Plane(np.empty((0, 2))) if reason else _plane(shown.z, method, options.seed, start)
    shown = shown.select(np.arange(len(made.xy)))
    several = shown.label.ndim == 2
    return Map(
        method, part, images, left_out,
        shown.row, shown.split, shown.domain, shown.unseen,
        np.full(len(shown), -1) if several else shown.label.astype(np.int64),
        made.xy, made.share, made.perplexity,
        fitted=start is not None and not reason, reason=reason,
    )  # fmt: skip


def _plane(z: NDArray[np.float32], method: Method, seed: int, start: Array | None) -> Plane:
    made = principal_plane(z) if method == "pca" else t_sne(z, seed, start)
    return made if start is None else made._replace(xy=turned_onto(made.xy, start))


def _shared(latents: Latents, reference: Map) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the images of another run's map, here and there; none of other data."""
    _, there, here = np.intersect1d(reference.row, latents.row, return_indices=True)
    here, there = here[np.argsort(there)], np.sort(there)
    same = (latents.domain[here] == reference.domain[there]).all()
    if latents.label.ndim == 1:
        same &= (latents.label[here] == reference.label[there]).all()
    return (here, there) if same else (here[:0], there[:0])
