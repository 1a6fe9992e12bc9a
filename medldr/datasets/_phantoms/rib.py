"""The anatomy of the rib phantom: a curved rib, its fracture, and the tissue around both.

Lengths are millimetres in a cube of `FIELD_MM`; densities are Hounsfield units (HU). What is drawn
(`Rib.draw`, `Fracture.draw`) is separate from how it is rendered (`render`), so the same rib can
be shown whole, broken, or by any scanner. Every shape is an analytic distance in the rib's own
coordinates: along its arc, outwards from its centre of curvature, and across.

All ranges are our choice: a sturdy rib whose fracture 28 voxels a side can still resolve.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

Volume = NDArray[np.floating[Any]]
"""Densities or distances, one per voxel; float32 throughout, which NumPy's types cannot express."""

FIELD_MM: Final = 48.0
CLASSES: Final = ("buckle", "nondisplaced", "displaced")

_LUNG_HU, _MUSCLE_HU, _FAT_HU, _CLOT_HU = -780.0, 55.0, -90.0, 45.0


@dataclass(frozen=True)
class Rib:
    """One patient's rib: everything that stays the same in all volumes of the patient.

    Attributes:
        radius: Radius of the arc, mm.
        half_depth: Half thickness from the lung to the skin, mm.
        half_height: Half thickness across, mm.
        cortex: Thickness of the bright shell, mm.
        cortex_hu: Density of the shell.
        marrow_hu: Density of what it encloses.
        waviness: Natural relative variation of the thickness along the arc.
        wavelength: Period of that variation, mm.
        phase: Phase of that variation in the middle of the field, radians.
        angles: Rotation about the axes z, y and x, radians.
        pleura: Distance from the rib to the lung, mm.
    """

    radius: float
    half_depth: float
    half_height: float
    cortex: float
    cortex_hu: float
    marrow_hu: float
    waviness: float
    wavelength: float
    phase: float
    angles: tuple[float, float, float]
    pleura: float

    @staticmethod
    def draw(rng: np.random.Generator) -> Rib:
        """Draw a patient's rib."""
        uniform = rng.uniform
        return Rib(
            radius=uniform(70, 150),
            half_depth=uniform(5.0, 6.5),
            half_height=uniform(6.5, 8.5),
            cortex=uniform(1.8, 2.6),
            cortex_hu=uniform(850, 1250),
            marrow_hu=uniform(180, 380),
            waviness=uniform(0.0, 0.06),
            wavelength=uniform(18, 40),
            phase=uniform(0, 2 * np.pi),
            angles=(uniform(-0.2, 0.2), uniform(-0.2, 0.2), uniform(-0.3, 0.3)),
            pleura=uniform(2.0, 5.0),
        )


@dataclass(frozen=True)
class Fracture:
    """One finding on a rib. It acts within `reach` of its plane along the arc, nowhere else.

    Attributes:
        kind: One of `CLASSES`.
        place: Where on the arc, mm from the middle of the field.
        slant: Obliqueness of the fracture plane: mm along the arc per mm outwards.
        side: Direction of bulge or offset around the rib's cross section, radians.
        bulge: Height of the bulging cortex, mm; 0 unless buckled.
        kink: Sideways bend of the rib at the bulge, mm; 0 unless buckled.
        gap: Width of the dark line through the rib, mm; 0 when buckled.
        offset: Step between the fragments at the line, mm; 0 unless displaced. The fragments
            return to the rib's course within `reach`, so the finding stays local.
        reach: Distance from the plane beyond which the rib is untouched, mm.
    """

    kind: str
    place: float
    slant: float
    side: float
    bulge: float
    kink: float
    gap: float
    offset: float
    reach: float

    @staticmethod
    def draw(rng: np.random.Generator, kind: str) -> Fracture:
        """Draw a fracture of this kind.

        The draws do not depend on the kind: the same stream gives the same place, slant and side.
        """
        uniform = rng.uniform
        place, slant, side = uniform(-5, 5), uniform(-0.4, 0.4), uniform(0, 2 * np.pi)
        bulge, kink = uniform(2.5, 4.5), uniform(1.0, 3.0)
        gap, offset = uniform(1.4, 2.6), uniform(4.5, 8.0)
        return Fracture(
            kind=kind,
            place=place,
            slant=slant,
            side=side,
            bulge=bulge if kind == "buckle" else 0.0,
            kink=kink if kind == "buckle" else 0.0,
            gap=0.0 if kind == "buckle" else gap,
            offset=offset if kind == "displaced" else 0.0,
            reach=gap / 2 if kind == "nondisplaced" else 10.0,
        )


@dataclass(frozen=True)
class Scene:
    """What a perfect scanner would see.

    Attributes:
        density: ``(D, H, W)`` float32, HU.
        mask: ``(D, H, W)`` bool, the rib within reach of the fracture; empty without one.
    """

    density: Volume
    mask: NDArray[np.bool_]


@dataclass(frozen=True)
class _Frame:
    """Each voxel in the rib's own coordinates, ``(N,)`` each, mm."""

    along: Volume
    out: Volume
    across: Volume


@lru_cache(maxsize=4)
def _grid(size: int) -> Volume:
    """Voxel centres ``(3, size**3)``, axes z, y, x, mm from the middle."""
    line = ((np.arange(size) + 0.5) / size - 0.5) * FIELD_MM
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij")).reshape(3, -1)
    grid = grid.astype(np.float32)
    grid.setflags(write=False)
    return grid


def _rotation(angles: tuple[float, float, float]) -> Volume:
    """Rotation about z, then y, then x, of coordinates in the order z, y, x."""
    (cz, cy, cx), (sz, sy, sx) = np.cos(angles), np.sin(angles)
    about_z = np.array([[1, 0, 0], [0, cz, -sz], [0, sz, cz]])
    about_y = np.array([[cy, 0, -sy], [0, 1, 0], [sy, 0, cy]])
    about_x = np.array([[cx, -sx, 0], [sx, cx, 0], [0, 0, 1]])
    rotation: Volume = (about_x @ about_y @ about_z).astype(np.float32)
    return rotation


def _frame(rib: Rib, size: int) -> _Frame:
    across, outward, tangent = _rotation(rib.angles) @ _grid(size)
    radius = np.float32(rib.radius)
    along = np.arctan2(tangent, outward + radius) * radius
    return _Frame(along, np.hypot(tangent, outward + radius) - radius, across)


def _plane(fracture: Fracture, frame: _Frame) -> Volume:
    """Signed distance to the fracture plane along the arc, mm."""
    return frame.along - np.float32(fracture.place) - np.float32(fracture.slant) * frame.out


def _whole(rib: Rib, along: Volume, out: Volume, across: Volume) -> Volume:
    """Depth below the surface of the unbroken rib, mm; negative outside.

    First-order distance to an ellipse: its level function over the length of the gradient.
    """
    turns = along * np.float32(2 * np.pi / rib.wavelength) + np.float32(rib.phase)
    swell = 1 + np.float32(rib.waviness) * np.sin(turns)
    depth, height = np.float32(rib.half_depth) * swell, np.float32(rib.half_height) * swell
    a, b = out / depth, across / height
    level = np.sqrt(a * a + b * b) + np.float32(1e-4)
    slope = np.sqrt((a / depth) ** 2 + (b / height) ** 2) + np.float32(1e-5)
    depth_below: Volume = (1 - level) * level / slope
    return depth_below


def _broken(rib: Rib, fracture: Fracture, frame: _Frame) -> Volume:
    """Depth below the surface of the rib with its fragments shifted and its cortex bulged, mm."""
    plane = _plane(fracture, frame)
    near = np.clip(1 - np.abs(plane) / np.float32(fracture.reach), 0, 1)
    cos, sin = np.float32(np.cos(fracture.side)), np.float32(np.sin(fracture.side))
    shift = near * (np.copysign(np.float32(fracture.offset / 2), plane) + np.float32(fracture.kink))
    out, across = frame.out - shift * cos, frame.across - shift * sin
    facing = (out * cos + across * sin) / (np.hypot(out, across) + np.float32(1e-3))
    rise = near * near * (3 - 2 * near) * (np.float32(0.4) + np.float32(0.6) * facing.clip(0, 1))
    return _whole(rib, frame.along, out, across) + np.float32(fracture.bulge) * rise


def _covered(depth: Volume, voxel: float) -> Volume:
    """Part of each voxel below a surface."""
    part: Volume = np.clip(depth / np.float32(voxel) + np.float32(0.5), 0, 1)
    return part


def _line(plane: Volume, gap: float, voxel: float) -> Volume:
    """Part of each voxel within the gap around the fracture plane."""
    far = np.minimum(plane + np.float32(voxel / 2), np.float32(gap / 2))
    close = np.maximum(plane - np.float32(voxel / 2), np.float32(-gap / 2))
    part: Volume = np.clip(far - close, 0, None) / np.float32(voxel)
    return part


def _texture(rng: np.random.Generator, size: int, sigma_mm: float) -> Volume:
    """A smooth random field ``(size**3,)`` of mean about 0 and standard deviation 1."""
    white = rng.standard_normal((size, size, size), dtype=np.float32)
    field: Volume = gaussian_filter(white, sigma_mm * size / FIELD_MM, truncate=2.5).ravel()
    field /= field.std()
    return field


def render(rib: Rib, fracture: Fracture | None, size: int, texture: np.random.Generator) -> Scene:
    """Show a rib, whole or broken, to a perfect scanner.

    Args:
        rib: The patient's rib.
        fracture: The finding, or None for the whole rib.
        size: Voxels per side; the field stays `FIELD_MM`.
        texture: Source of tissue texture; an equal stream gives the same tissue.

    Returns:
        Densities and the fracture's mask, ``(size, size, size)`` each.

    Example:
        >>> rib = Rib.draw(np.random.default_rng(0))
        >>> scene = render(rib, None, 28, np.random.default_rng(1))
        >>> scene.density.shape, bool(scene.mask.any()), bool(scene.density.max() > 800)
        ((28, 28, 28), False, True)
    """
    voxel, shape = FIELD_MM / size, (size, size, size)
    frame = _frame(rib, size)
    depth = whole = _whole(rib, frame.along, frame.out, frame.across)
    mask = np.zeros(shape, bool)
    line: Volume | float = 0.0
    if fracture is not None:
        plane = _plane(fracture, frame)
        depth = _broken(rib, fracture, frame)
        line = _line(plane, fracture.gap, voxel)
        zone = np.abs(plane) <= fracture.reach + voxel / 2
        mask = (zone & (np.maximum(depth, whole) > -voxel / 2)).reshape(shape)

    coarse, fine = _texture(texture, size, 6.0), _texture(texture, size, 2.5)
    fat = np.clip(coarse - np.float32(0.3), 0, 1)
    tissue = _MUSCLE_HU + (_FAT_HU - _MUSCLE_HU) * fat + 12 * fine
    lung = _covered(-frame.out - np.float32(rib.half_depth + rib.pleura), voxel)
    tissue = tissue + (_LUNG_HU + 40 * fine - tissue) * lung

    marrow = _covered(depth - np.float32(rib.cortex), voxel)
    filling = rib.cortex_hu + (rib.marrow_hu + 50 * fine - rib.cortex_hu) * marrow
    filling = filling + (_CLOT_HU - filling) * line
    density = tissue + (filling - tissue) * _covered(depth, voxel)
    return Scene(density.astype(np.float32).reshape(shape), mask)
