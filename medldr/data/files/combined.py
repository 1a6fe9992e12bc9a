"""Several images as one item: on one grid, of one patient, and what is known of them together.

Source:
    Our choice. Images that become channels are brought to the grid of the first one that is there,
    by the affines of their headers and by nothing else: linearly, after a Gaussian of half the
    excess of the ratio over 1 where voxels become fewer (MONAI's rule, as in
    `medldr.data.files.image`). The outermost voxels hold for one voxel beyond them; farther out an
    image has its own lowest value. Grids are the same where no corner lies more than a tenth of the
    smallest spacing away. Without affines, as of pictures and arrays, equal shapes are one grid and
    others are refused: a shape says nothing of places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.config import Combined
from medldr.data.files.facts import Facts
from medldr.data.files.geometry import Grid, apart
from medldr.data.files.scan import Scan, ScanError, times
from medldr.data.image_table import Look, digest_of

_SAME: Final = 0.1
"""How many of the smallest spacing a corner may lie away on a grid that counts as the same."""


def misfit(first: Grid, other: Grid, how: Combined) -> str:
    """Why an image cannot become a channel beside the first one; empty where it can.

    Args:
        first: The grid of the first image.
        other: Of the image.
        how: How images are combined.
    """
    if on_one_grid(first, other):
        return ""
    shapes = f"{times(other.spatial)}, and {times(first.spatial)} in the first image"
    views = "data.combine=views gives each image to the network by itself"
    if first.affine is None or other.affine is None:
        return f"it is {shapes}, and not both say where they lie in the patient; {views}"
    if how.align == "refuse":
        return f"its grid is another ({shapes}; data.align=resample brings it to the first one's)"
    low, high = (np.min(_corners(first, other), 0), np.max(_corners(first, other), 0))
    if (high < -0.5).any() or (low > np.array(other.spatial) - 0.5).any():
        return f"it lies elsewhere in the body and does not overlap the first image; {views}"
    return ""


def on_one_grid(first: Grid, other: Grid) -> bool:
    """Whether two images have the same pixels at the same places in the patient."""
    if first.spatial != other.spatial or (first.affine is None) != (other.affine is None):
        return False
    if first.affine is None:
        known = first.spacing is not None and other.spacing is not None
        return not known or bool(np.allclose(first.spacing or (), other.spacing or (), rtol=_SAME))
    return apart(first, other) <= _SAME * min(first.spacing or (0.0,))


def _corners(first: Grid, other: Grid) -> NDArray[np.float64]:
    """``(8, 3)`` corners of the first grid as indices of the other."""
    ends = np.meshgrid(*((0, n - 1) for n in first.spatial), [1], indexing="ij")
    corners = np.stack([axis.ravel() for axis in ends])
    return np.asarray((_between(first, other) @ corners)[:3].T)


def _between(first: Grid, other: Grid) -> NDArray[np.float64]:
    """``(4, 4)``, from indices of the first grid to those of the other."""
    return np.asarray(np.linalg.solve(np.array(other.affine), np.array(first.affine)))


def on_grid_of(first: Scan, other: Scan, how: Combined) -> Scan:
    """An image on the grid of the first one.

    Raises:
        ScanError: If it cannot be brought there; see `misfit`.
    """
    reason = misfit(first, other, how)
    if reason:
        raise ScanError(reason)
    if first is other or on_one_grid(first, other):
        return other
    from scipy import ndimage  # with the first image that needs it, not with a run's start

    matrix = _between(first, other)
    blur = np.maximum(np.linalg.norm(matrix[:3, :3], axis=1) - 1, 0) / 2
    moved = [
        ndimage.affine_transform(
            np.pad(ndimage.gaussian_filter(channel, blur, mode="nearest"), 1, mode="edge"),
            matrix[:3, :3],
            matrix[:3, 3] + 1,
            first.spatial,
            order=1,
            cval=float(channel.min()),
        )
        for channel in other.values.astype(np.float32)
    ]
    return replace(other, values=np.stack(moved), spacing=first.spacing, affine=first.affine)


def of_one_patient(images: Iterable[Facts | None]) -> str:
    """Why images are not of one patient, by what their headers say; empty where they may be."""
    named = {one.patient for one in images if one is not None and one.patient}
    return "its images name different patients in their headers" if len(named) > 1 else ""


def facts_of_item(images: Sequence[Facts | None], names: Sequence[str]) -> Facts:
    """What an item of several images is: shape and place are those of the first that is there.

    Args:
        images: Of each; None for one that is missing.
        names: Of their columns.
    """
    there = [one for one in images if one is not None]
    named = [(name, one) for name, one in zip(names, images, strict=True) if one is not None]
    missing = [name for name, one in zip(names, images, strict=True) if one is None]
    return there[0]._replace(
        mode=" + ".join(dict.fromkeys(one.mode for one in there)),
        modality=" + ".join(dict.fromkeys(one.modality for one in there if one.modality)),
        low=min(one.low for one in there),
        high=max(one.high for one in there),
        warnings=(
            *(f"{name} is missing: zeros stand in its place" for name in missing),
            *(f"{name}: {text}" for name, one in named for text in one.warnings),
        ),
        others=(*there[0].others, *("" if one is None else one.header for one in images[1:])),
    )


def look_of_item(looks: Sequence[Look | None]) -> Look:
    """A look at all images of an item: equal where each is equal, or missing alike."""
    there = [one for one in looks if one is not None]
    joined = b"".join(b"-" if one is None else one.digest for one in looks)
    constant = all(one.constant for one in there)
    return Look(constant, digest_of(np.frombuffer(joined, np.uint8)))


def stacked(images: Sequence[NDArray[Any] | None]) -> NDArray[Any]:
    """Images ``(C, *S)`` after one another as ``(n * C, *S)``; zeros for one that is missing."""
    blank = np.zeros_like(next(one for one in images if one is not None))
    return np.concatenate([blank if one is None else one for one in images])
