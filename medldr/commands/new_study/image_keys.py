"""Kind, size, spacing and window of the images, from what all files are.

Source:
    Our choice of kind, by the rule of `medldr.transforms.scan`: only where nothing has an up or a
    left are all mirrors drawn. Grey images are scans. Coloured ones are microscopy where the names
    of folders, classes or the data set say so; all others are photographs and are not mirrored,
    which costs little where they could be and spoils no label where they could not.

    Our choice. Pictures of 64 to 224 pixels and volumes of 32 to 96 voxels an edge are what the
    recipes are for, and never more than the files have. Where the files of a set have different
    spacings but show about the same extent in mm, all are brought to one scale in mm; where they
    do not, each is stretched to the same number of pixels, because a scale that holds the largest
    would leave little of the smallest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.commands.new_study.asking import TOLD, Asker, Finding, remark
from medldr.data.files.facts import Facts
from medldr.data.files.intensity import rule_name
from medldr.data.files.read import read_scan
from medldr.data.files.scan import Source
from medldr.errors import InputError, did_you_mean

KINDS: Final = ("scan", "microscopy", "photo")
RECIPES: Final = {"microscopy": "recipe/own_microscopy", 2: "recipe/own_2d", 3: "recipe/own_3d"}

_MICROSCOPY: Final = re.compile(
    r"cell|histo|cyto|cyte|phil(\b|_)|mito|slide|smear|stain|biops|patholog|microscop|tissue|blood|"
    r"aperio|hamamatsu|leica|zeiss|3dhist|camelyon|tcga|epithel|stroma|adenocarcinoma|"
    r"dermosc|dermato|melanoma|nevus|keratos|parasit|malaria"
)
_LOOKED_AT: Final = 24
_COLOURED: Final = 8
"""Mean distance between the channels of a coloured picture, of 255."""

SIZES: Final = {2: (64, 96, 128, 224), 3: (32, 48, 64, 96)}
SMALL_STEM: Final = {2: 64, 3: 33}
"""Images of shorter edges go into a network without the pooling at its start."""

_SAME: Final = 0.01
"""Spacings that differ by less, relative to each other, are the same."""
_SIMILAR: Final = 1.25
"""Extents are similar where the 90th percentile is at most so many times the 10th."""
_AIR: Final = -500.0
"""No scan but a CT has whole numbers below this."""
_STRETCHED: Final = 1.25
_WORDS: Final = {2: ("pictures", "pixels", "shorter"), 3: ("volumes", "voxels", "middle")}


def dims_of(facts: Sequence[Facts]) -> int:
    """2 where most items are pictures, or volumes of a single slice; else 3.

    Args:
        facts: Of each item.
    """
    flat = sum(_flat(one) for one in facts)
    return 2 if 2 * flat >= len(facts) else 3


def image_keys(facts: Sequence[Facts]) -> list[Finding]:
    """The keys that say how files become images.

    Args:
        facts: Of each usable item; at least one.
    """
    dims = dims_of(facts)
    keys = []
    if dims == 2 and any(len(one.spatial) == 3 and _flat(one) for one in facts):
        keys.append(Finding("dims", 2, "Every file holds a single slice."))
    edges = np.array([_edges(one, dims) for one in facts if len(_edges(one, dims)) == dims])
    size, why = _size(edges, dims)
    keys.append(Finding("size", size, why))
    keys += _spacing(facts, dims, size)
    return [*keys, *_window(facts)]


def _flat(facts: Facts) -> bool:
    return len(facts.spatial) == 2 or 1 in facts.spatial


def _edges(facts: Facts, dims: int) -> tuple[int, ...]:
    edges = [*facts.spatial]
    if dims == 2 and len(edges) == 3 and 1 in edges:
        edges.remove(1)
    return tuple(edges)


def _size(edges: NDArray[np.int64], dims: int) -> tuple[int, str]:
    """Pixels along each axis: by the shorter edge of pictures, by the middle one of volumes."""
    chosen = edges.min(axis=1) if dims == 2 else np.sort(edges, axis=1)[:, 1]
    typical = int(np.median(chosen))
    size = max((one for one in SIZES[dims] if one <= typical), default=typical)
    kinds = np.unique(edges, axis=0)
    what, unit, edge = _WORDS[dims]
    why = f"All {what} have {_x(kinds[0])} {unit}."
    if len(kinds) > 1:
        ends = f"{_x(edges.min(axis=0))} to {_x(edges.max(axis=0))} {unit}"
        why = f"The {what} have {ends}; the median {edge} edge is {typical}."
    aspect = float(np.median(edges.max(axis=1) / edges.min(axis=1)))
    if aspect >= _STRETCHED and dims == 2:
        why += (
            f" They are not square (typically {aspect:.1f} : 1) and are stretched; two numbers "
            "keep the proportions, height first."
        )
    if size < int(chosen.min()) or size < typical:
        why += " Larger images cost more and may show more."
    return size, why


def _spacing(facts: Sequence[Facts], dims: int, size: int) -> list[Finding]:
    known = [one for one in facts if one.spacing is not None and len(one.spacing) == dims]
    if not known:
        return []
    if len(known) < len(facts):
        silent = f"{len(facts) - len(known):,} of {len(facts):,} files do not say their spacing"
        why = f"{silent} in mm, so data.spacing cannot be used; all are stretched to one size."
        return [remark(why)]
    spacings = np.array([one.spacing for one in known], dtype=np.float64)
    if (spacings.max(axis=0) <= (1 + _SAME) * spacings.min(axis=0)).all():
        return [remark(f"All files have a spacing of {_mm(spacings[0])} mm.")]
    extents = spacings * np.array([_edges(one, dims) for one in known])
    low, high = np.percentile(extents, (10, 90), axis=0)
    ranges = (
        f"Spacings differ ({_mm(spacings.min(axis=0))} to {_mm(spacings.max(axis=0))} mm); most "
        f"scans extend over {_mm(low)} to {_mm(high)} mm."
    )
    middle = [float(f"{value / size:.3g}") for value in np.median(extents, axis=0)]
    alike = bool((high <= _SIMILAR * low).all())
    why = (
        "With this spacing the typical extent fills the image; borders are added or cut (data.fit)."
        if alike
        else "That is too different for one scale in mm, so each scan is stretched to one size. "
        "Where sizes in mm matter, set a spacing: this one shows the typical extent."
    )
    return [Finding("spacing", middle, f"{ranges} {why}", used=alike)]


def _window(facts: Sequence[Facts]) -> list[Finding]:
    rules = Counter(rule_name(one, "auto", 16) for one in facts)
    others = [one for one in facts if rule_name(one, "auto", 16) != "ct"]
    low = [one for one in others if one.low < _AIR and "float" not in one.mode]
    deep = f"hold whole numbers below {_AIR:,.0f}, as CT does"
    if rules["ct"] and len(low) == len(others):
        all_ct = f"{rules['ct']:,} files are CT; the others {deep}" if others else "All are CT"
        why = f"{all_ct}: air to dense bone becomes 0 to 1. Also: bone, lung, soft_tissue, brain."
        return [Finding("window", "ct", why)]
    if len(rules) > 1 and all(one.bits == 8 for one in facts):
        why = "All files hold 0 to 255: one scale for all, where MR would have one for each image."
        return [Finding("window", [0, 255], why)]
    if len(rules) > 1:
        listed = ", ".join(f"{rule} {count:,}" for rule, count in rules.most_common())
        why = (
            f"By itself each file would be scaled as its kind demands ({listed}), and a network "
            "may learn the rule instead of the finding. So each is scaled from its own "
            "percentiles. If all values have one unit, two numbers are better."
        )
        return [Finding("window", "percentile", why)]
    if low:
        why = (
            f"{len(low):,} files {deep}. If all are CT, uncomment this (or bone, lung, "
            "soft_tissue, brain): one scale for all. As it is, each volume has its own."
        )
        return [Finding("window", "ct", why, used=False)]
    return []


def _x(numbers: NDArray[np.int64]) -> str:
    return " x ".join(f"{number}" for number in numbers.tolist())


def _mm(numbers: NDArray[np.float64]) -> str:
    return " x ".join(f"{number:.3g}" for number in numbers.tolist())


class Kind(NamedTuple):
    """Kind of the images.

    Attributes:
        name: One of `KINDS`.
        why: What says so.
        grey: Whether colour channels hold nothing but grey.
    """

    name: str
    why: str
    grey: bool = False


def kind_of_images(
    facts: Sequence[Facts],
    sources: Sequence[Source],
    names: Iterable[str],
    dims: int,
    given: str | None,
    asker: Asker,
) -> Kind:
    """Scan, microscopy or photo.

    Args:
        facts: ``(N,)`` what each item is.
        sources: ``(N,)`` where each is; a few are looked at.
        names: Of the data set, its classes and its domains.
        dims: 2 or 3.
        given: What the user said.
        asker: Who decides about coloured pictures.

    Raises:
        InputError: If `given` is no kind, or does not go with volumes.
    """
    if given is not None:
        if given not in KINDS:
            raise InputError(
                f"--kind: {given!r} is none of {', '.join(KINDS)}.{did_you_mean(given, KINDS)}"
            )
        if dims == 3 and given == "photo":
            raise InputError("--kind: these are volumes, so they are a scan, or microscopy")
        return Kind(given, TOLD)
    coloured = [row for row, one in enumerate(facts) if one.eight_bit and one.shape[0] >= 3]
    if dims == 3 or 2 * len(coloured) < len(facts):
        return Kind("scan", "Volumes." if dims == 3 else "Grey pictures.")
    if not _are_coloured([sources[row] for row in coloured]):
        return Kind("scan", "Pictures with three channels that hold nothing but grey.", grey=True)
    telling = sorted({name for name in names if _MICROSCOPY.search(name.casefold())})
    best = "microscopy" if telling else "photo"
    named = f", and names such as {telling[0]!r}" if telling else ""
    answer = asker.choose("What are these coloured pictures", KINDS, best)
    return Kind(answer.value, f"Coloured pictures{named}. {answer.why}")


def _are_coloured(sources: Sequence[Source]) -> bool:
    """Whether most of some pictures have other colours than grey."""
    step = max(1, len(sources) // _LOOKED_AT)
    seen = sources[::step]
    spans = [np.ptp(read_scan(source).values[:3].astype(np.int64), axis=0) for source in seen]
    return 2 * sum(float(span.mean()) >= _COLOURED for span in spans) >= len(seen)
