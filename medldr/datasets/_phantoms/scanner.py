"""Simulated CT scanners: how a density volume becomes grey values.

`SCANNERS` is the whole truth about the domains of the rib phantom: they share the anatomy, the
fractures and the label balance, and differ in these numbers only. Three of them are soft and
quiet, each a little different; `scanner_d`, the one to hold out, has a sharp kernel, coarse noise
and a narrow window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from medldr.datasets._phantoms.rib import FIELD_MM, Volume


@dataclass(frozen=True)
class Scanner:
    """One scanner and its protocol.

    Attributes:
        name: Name of the domain.
        noise: Standard deviation of the noise in each slice, HU.
        grain: Correlation length of the noise in the slice (Gaussian sigma), mm.
        blur: Reconstruction kernel: Gaussian sigma, mm.
        sharpen: Reconstruction kernel: part of the detail added again (unsharp mask), 0 for soft.
        level: Middle of the intensity window, HU.
        width: Width of the intensity window, HU.
        bias: Relative shading half a field from the middle, along a direction drawn for each
            volume; where that is a diagonal, the corners get up to sqrt(3) times as much.
        slice_mm: Slice thickness along the first axis, mm; slices are read at the voxel grid by
            linear interpolation. The in-plane voxel is `FIELD_MM` over the size.
    """

    name: str
    noise: float
    grain: float
    blur: float
    sharpen: float
    level: float
    width: float
    bias: float
    slice_mm: float


# fmt: off
SCANNERS: tuple[Scanner, ...] = (
    #       name         noise grain blur sharpen level width bias  slice_mm
    Scanner("scanner_a", 30,   1.6,  1.2, 0.0,    350,  1900, 0.00, 2.3),
    Scanner("scanner_b", 55,   2.4,  1.6, 0.0,    400,  2200, 0.05, 3.2),
    Scanner("scanner_c", 70,   1.2,  1.0, 0.5,    300,  1700, 0.10, 4.0),
    Scanner("scanner_d", 150,  1.0,  0.8, 1.5,    300,  1200, 0.12, 2.3),
)
# fmt: on


@lru_cache(maxsize=32)
def _slices(size: int, slice_mm: float) -> tuple[Volume, Volume]:
    """Matrices voxels -> slices (averages) and slices -> voxels (linear interpolation)."""
    count = max(1, min(size, round(FIELD_MM / slice_mm)))
    edges = np.linspace(0, size, count + 1)
    voxel = np.arange(size)
    overlap = np.minimum(edges[1:, None], voxel + 1) - np.maximum(edges[:-1, None], voxel)
    average = np.clip(overlap, 0, None)
    average /= average.sum(1, keepdims=True)
    middles = (edges[:-1] + edges[1:]) / 2 - 0.5
    back = np.stack([np.interp(voxel, middles, row) for row in np.eye(count)], axis=1)
    return average.astype(np.float32), back.astype(np.float32)


def acquire(density: Volume, scanner: Scanner, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Scan a volume.

    Args:
        density: ``(D, H, W)`` cube, HU.
        scanner: The scanner.
        rng: Source of noise and of the shading's direction.

    Returns:
        ``(D, H, W)`` uint8 grey values.
    """
    size = len(density)
    voxel = FIELD_MM / size
    image = gaussian_filter(density, scanner.blur / voxel, truncate=3)
    if scanner.sharpen:
        smooth = gaussian_filter(image, 2.2 / voxel, truncate=3)
        image = image + np.float32(scanner.sharpen) * (image - smooth)

    average, back = _slices(size, scanner.slice_mm)
    slices = np.tensordot(average, image, 1)
    noise = rng.standard_normal(slices.shape, dtype=np.float32)
    sigma = scanner.grain / voxel
    noise = gaussian_filter(noise, (0, sigma, sigma), truncate=3, mode="wrap")
    slices = slices + noise * np.float32(scanner.noise / noise.std())
    image = np.tensordot(back, slices, 1)

    direction = rng.standard_normal(3)
    direction /= np.linalg.norm(direction)
    line = np.linspace(-1, 1, size, dtype=np.float32)
    ramp = direction[0] * line[:, None, None] + direction[1] * line[:, None] + direction[2] * line
    image = (image + 1000) * (1 + np.float32(scanner.bias) * ramp.astype(np.float32)) - 1000

    grey = (image - np.float32(scanner.level)) / np.float32(scanner.width) + np.float32(0.5)
    pixels: NDArray[np.uint8] = np.rint(np.clip(grey, 0, 1) * 255).astype(np.uint8)
    return pixels
