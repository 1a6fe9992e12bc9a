"""The anatomy of the histology phantom: stroma, nuclei and tumour nests before any staining.

Lengths are micrometres (um) in a square tile of `FIELD_UM`, positions are ``(y, x)`` from its
middle; densities say how much dye the tissue binds, 1 being a usual nucleus (haematoxylin) or
usual stroma (eosin). Everything is drawn in micrometres and rendered afterwards, so a tile is the
same tissue at any size. Textures are sums of plane waves, which a grid evaluates as one small
matrix product.

All ranges are our choice: nuclei that half a Camelyon17 patch's resolution can still resolve, and
crowds of small normal nuclei, so darkness alone does not identify a tumour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Map = NDArray[np.float64]
"""One value per pixel ``(size, size)``, or per point."""

FIELD_UM: Final = 96.0
CENTRE_UM: Final = 32.0
"""Side of the middle square that decides the label: the central 32 of Camelyon17's 96 pixels."""

_LOBES: Final = 0.25  # a nest's outline stays within this part of its radius
_CLEAR_UM: Final = 4.0  # least distance between a nest in the border and the middle square


@dataclass(frozen=True)
class Waves:
    """A random texture of mean 0 and standard deviation 1: plane waves of random phase.

    Attributes:
        vectors: ``(K, 2)`` wave vectors, radians per um.
        phases: ``(K,)`` radians.
    """

    vectors: Map
    phases: Map

    @staticmethod
    def draw(
        rng: np.random.Generator,
        wavelengths: tuple[float, float],
        count: int = 16,
        along: float | None = None,
    ) -> Waves:
        """Draw a texture with these wavelengths, um; fibres where a direction is given.

        Args:
            rng: Source of randomness.
            wavelengths: Shortest and longest.
            count: Number of waves.
            along: Direction of the fibres, radians; unset for none.
        """
        length = 2 * np.pi / rng.uniform(*wavelengths, size=count)
        turn = rng.uniform(0, 2 * np.pi, size=count)
        if along is not None:  # waves across the fibres
            turn = along + np.pi / 2 + rng.normal(0, 0.25, size=count)
        vectors = length[:, None] * np.stack([np.sin(turn), np.cos(turn)], axis=1)
        return Waves(vectors, rng.uniform(0, 2 * np.pi, size=count))

    def on(self, line: Map) -> Map:
        """Values on the grid ``(S, S)`` that a line of positions ``(S,)`` spans."""
        down = np.outer(line, self.vectors[:, 0]) + self.phases
        right = np.outer(line, self.vectors[:, 1])
        parts = np.cos(down) @ np.cos(right).T - np.sin(down) @ np.sin(right).T
        values: Map = parts * np.sqrt(2 / len(self.phases))
        return values

    def at(self, points: Map) -> Map:
        """Values ``(N,)`` at points ``(N, 2)``."""
        total = np.cos(points @ self.vectors.T + self.phases).sum(1)
        values: Map = total * np.sqrt(2 / len(self.phases))
        return values


@dataclass(frozen=True)
class Nest:
    """A nest of tumour cells with a lobed outline.

    Attributes:
        centre: ``(y, x)``, um; may lie outside the tile.
        radius: Mean radius, um.
        lobes: Relative depth of 2, 3 and 5 lobes; their sum is at most a quarter.
        phases: Direction of each, radians.
    """

    centre: tuple[float, float]
    radius: float
    lobes: tuple[float, float, float]
    phases: tuple[float, float, float]

    @staticmethod
    def draw(rng: np.random.Generator, *, central: bool) -> Nest:
        """Draw a nest that reaches into the middle square, or one that stays clear of it.

        Args:
            rng: Source of randomness; the number of draws does not depend on `central`.
            central: Whether it reaches into the middle square, at least `_CLEAR_UM` wide.
        """
        part, turn, away = rng.uniform(size=3)
        point = rng.uniform(-1, 1, size=2) * (CENTRE_UM - _CLEAR_UM) / 2
        lobes = rng.dirichlet((1, 1, 1)) * rng.uniform(0, _LOBES)
        phases = rng.uniform(0, 2 * np.pi, size=3)
        direction = np.array([np.sin(2 * np.pi * turn), np.cos(2 * np.pi * turn)])
        if central:  # a disc around the point is within the outline's smallest radius
            radius = 14.0 * 5.0**part
            centre = point + direction * away * (radius * (1 - _LOBES) - _CLEAR_UM / 2)
        else:  # the distance along the longer axis is a lower bound of the distance
            radius = 12.0 * 2.2**part
            far = CENTRE_UM / 2 + radius * (1 + _LOBES) + _CLEAR_UM + 8 * away
            centre = direction / np.abs(direction).max() * far
        return Nest(
            (float(centre[0]), float(centre[1])),
            radius,
            (float(lobes[0]), float(lobes[1]), float(lobes[2])),
            (float(phases[0]), float(phases[1]), float(phases[2])),
        )

    def depth(self, y: Map, x: Map) -> Map:
        """How far inside the outline points are, along the radius, um; negative outside."""
        down, right = y - self.centre[0], x - self.centre[1]
        angle = np.arctan2(down, right)
        edge = sum(
            lobe * np.cos(count * angle + phase)
            for count, lobe, phase in zip((2, 3, 5), self.lobes, self.phases, strict=True)
        )
        inside: Map = self.radius * (1 + edge) - np.hypot(down, right)
        return inside


@dataclass(frozen=True)
class Scene:
    """Tissue on a glass slide, before any dye.

    Attributes:
        haematoxylin: ``(size, size)``, what haematoxylin binds to: 0 on bare glass, nuclei about 1.
        eosin: ``(size, size)``, what eosin binds to: 0 on bare glass, stroma about 1.
        tumour: ``(size, size)`` bool, inside a nest.
    """

    haematoxylin: Map
    eosin: Map
    tumour: NDArray[np.bool_]


def middle(size: int) -> NDArray[np.bool_]:
    """The pixels ``(size, size)`` whose centres are in the middle square.

    Example:
        >>> int(middle(96).sum()) == 32 * 32, int(middle(48).sum()) == 16 * 16
        (True, True)
    """
    near = np.abs(grid(size)) < CENTRE_UM / 2
    square: NDArray[np.bool_] = near[:, None] & near
    return square


def grid(size: int) -> Map:
    """Centres of the pixels along one axis ``(size,)``, um from the middle."""
    line: Map = ((np.arange(size) + 0.5) / size - 0.5) * FIELD_UM
    return line
