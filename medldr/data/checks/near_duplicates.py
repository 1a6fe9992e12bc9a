"""Images that are nearly the same: saved again, cut a little, brighter, or neighbouring slices.

Source:
    Our choice. Candidates are pairs whose grey pictures of 16 x 16 (volumes: the mean along each
    axis) correlate above `SIMILAR`; of these, pairs stay whose full images differ by at most
    `DIFFERENCE` of their own spread, root mean square, after the best scale and offset. Images
    smaller than 16 pixels along an axis are not compared: too little is left to tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.data.checks.table_checks import each_part
from medldr.data.image_table import Images

SIMILAR: Final = 0.99
DIFFERENCE: Final = 0.15
_EDGE: Final = 16
_BLOCK: Final = 2048


class Near(NamedTuple):
    """Two nearly equal images.

    Attributes:
        first: Row of one.
        second: Row of the other, a later one.
        difference: What is left of the second once the first is subtracted, as a part of its
            standard deviation; 0 for equal images.
    """

    first: int
    second: int
    difference: float


def near_pairs(images: Images, parts: NDArray[np.int64]) -> list[Near]:
    """Pairs of nearly equal images in different parts of a data set.

    Args:
        images: ``(N, C, [D,] H, W)``.
        parts: ``(N,)`` number of the part (a split of a domain) that each is in; -1: not compared.

    Returns:
        The pairs, most alike first. Equal images are among them, constant ones are not.
    """
    if min(images.shape[2:], default=0) < _EDGE:
        return []
    rows = np.flatnonzero(parts >= 0)
    prints = list(each_part(images, rows, _prints, title="comparing images"))
    pairs = _candidates(np.concatenate(prints), parts[rows]) if prints else ()
    candidates = [
        Near(int(rows[a]), int(rows[b]), _difference(images, int(rows[a]), int(rows[b])))
        for a, b in pairs
    ]
    return sorted((n for n in candidates if n.difference <= DIFFERENCE), key=lambda n: n.difference)


def _prints(block: NDArray[Any]) -> NDArray[np.float32]:
    """A vector of length 1 per image, 0 throughout for a constant one."""
    image = torch.from_numpy(np.ascontiguousarray(block)).float().mean(1)  # colours are averaged
    views = [image.mean(axis) for axis in (1, 2, 3)] if image.ndim == 4 else [image]
    small = [
        torch.nn.functional.interpolate(
            view[:, None], (_EDGE, _EDGE), mode="bilinear", antialias=True, align_corners=False
        ).flatten(1)
        for view in views
    ]
    flat = torch.cat([part - part.mean(1, keepdim=True) for part in small], dim=1)
    return torch.nn.functional.normalize(flat, dim=1, eps=1e-6).numpy()


def _candidates(prints: NDArray[np.float32], parts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Pairs of different parts whose prints correlate, block by block of the matrix of all."""
    for start in range(0, len(prints), _BLOCK):
        alike = prints[start : start + _BLOCK] @ prints[start:].T
        for a, b in np.argwhere(alike > SIMILAR).tolist():
            if a < b and parts[start + a] != parts[start + b]:
                yield start + a, start + b


def _difference(images: Images, first: int, second: int) -> float:
    one, other = (images[row].astype(np.float64).ravel() for row in (first, second))
    spread = other.std()
    if not spread or not one.std():
        return np.inf
    slope = np.mean((one - one.mean()) * (other - other.mean())) / one.var()
    rest = other - other.mean() - slope * (one - one.mean())
    return float(rest.std() / spread)
