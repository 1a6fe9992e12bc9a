"""Nuclei and tissue of the histology phantom: what is drawn for a tile, and how it is rendered.

Normal nuclei are small and round, sparse in the stroma and crowded in follicles; those of a tumour
are larger, irregular, paler inside and crowded in nests. `Tissue.draw` draws, `render` renders.
Outlines, textures and lengths are those of `medldr/datasets/_phantoms/tissue.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.datasets._phantoms.tissue import FIELD_UM, Map, Nest, Scene, Waves, grid

_REACH: Final = FIELD_UM / 2 + 8.0  # nuclei are placed beyond the edge, so none is missing
_RED_CELL_UM: Final = 3.4  # radius
_SMOOTH_UM: Final = 3.0  # width of the edge of tissue and nests


@dataclass(frozen=True)
class Nuclei:
    """Nuclei of a tile, one row each.

    Attributes:
        points: ``(N, 2)`` centres, um.
        axes: ``(N, 2)`` half axes, um.
        turns: ``(N,)`` direction of the first axis, radians.
        lobes: ``(N,)`` relative irregularity of the outline.
        densities: ``(N,)`` haematoxylin bound at the rim.
        hollow: ``(N,)`` part of it missing in the middle.
    """

    points: Map
    axes: Map
    turns: Map
    lobes: Map
    densities: Map
    hollow: Map

    @staticmethod
    def draw(
        rng: np.random.Generator,
        points: Map,
        radii: tuple[float, float],
        longest: float,
        lobes: float,
        density: tuple[float, float],
        hollow: float,
    ) -> Nuclei:
        """Draw nuclei at these points, each with its own size, shape and chromatin.

        Args:
            rng: Source of randomness.
            points: ``(N, 2)``, um.
            radii: Smallest and largest radius, um.
            longest: Largest ratio of the axes.
            lobes: Largest irregularity of the outline.
            density: Mean and standard deviation of the haematoxylin bound.
            hollow: Largest part of it missing in the middle.
        """
        n = len(points)
        radius, ratio = rng.uniform(*radii, size=n), np.sqrt(rng.uniform(1, longest, size=n))
        return Nuclei(
            points,
            np.stack([radius * ratio, radius / ratio], axis=1),
            rng.uniform(0, np.pi, size=n),
            rng.uniform(0, lobes, size=n),
            rng.normal(*density, size=n).clip(0.4, 1.6),
            rng.uniform(0, hollow, size=n),
        )

    def kept(self, keep: NDArray[np.bool_]) -> Nuclei:
        """Those for which `keep` holds."""
        return Nuclei(*(column[keep] for column in vars(self).values()))

    def density(self, size: int) -> Map:
        """Haematoxylin that nuclei bind in each pixel ``(size, size)``.

        Each nucleus is rendered in a window of its own; where two overlap, the darker one is seen.
        """
        pixel = FIELD_UM / size
        half = int(np.ceil(1.2 * self.axes.max(initial=0) / pixel))
        pad = int(np.ceil(_REACH / pixel)) - size // 2 + half + 1  # pixels beyond the edge
        window = np.arange(-half, half + 1)
        first = np.floor((self.points / FIELD_UM + 0.5) * size).astype(np.int64)
        places = first[:, None] + window[:, None]  # (N, window, 2)
        offsets = ((places + 0.5) / size - 0.5) * FIELD_UM - self.points[:, None]
        down, right = offsets[:, :, None, 0], offsets[:, None, :, 1]

        cos, sin = np.cos(self.turns)[:, None, None], np.sin(self.turns)[:, None, None]
        a, b = self.axes[:, 0, None, None], self.axes[:, 1, None, None]
        u, v = right * (cos / a) + down * (sin / a), down * (cos / b) - right * (sin / b)
        square = u * u + v * v
        rho = np.sqrt(square)
        edge: Map | float = 1.0
        if self.lobes.any():  # three lobes: the cosine of three times the angle
            edge = 1 + self.lobes[:, None, None] * (4 * u * u - 3 * square) * u / (rho**3 + 1e-6)
        cover = np.clip((edge - rho) * (np.sqrt(a * b) / pixel) + 0.5, 0, 1)
        pale = 1 - self.hollow[:, None, None] * np.clip(1 - square, 0, 1)

        side = size + 2 * pad
        canvas = np.zeros(side * side)
        index = (places[:, :, None, 0] + pad) * side + places[:, None, :, 1] + pad
        np.maximum.at(canvas, index, cover * pale * self.densities[:, None, None])
        return canvas.reshape(side, side)[pad : pad + size, pad : pad + size]


def _lattice(rng: np.random.Generator, spacing: float) -> Map:
    """Points about `spacing` um apart, by a jittered grid, beyond the tile's edge too."""
    line = np.arange(-_REACH + spacing / 2, _REACH, spacing)
    points = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    points[1::2, :, 1] += spacing / 2  # every other row in between
    points = points.reshape(-1, 2) + rng.uniform(-0.28, 0.28, size=(points.size // 2, 2)) * spacing
    return np.asarray(points.clip(-_REACH, _REACH), dtype=np.float64)


@dataclass(frozen=True)
class Tissue:
    """The content of a tile, in micrometres, independent of the size it is rendered at.

    Attributes:
        nest: The tumour nest, or None.
        nuclei: Normal nuclei, and with a nest those of the tumour.
        gaps: Texture whose high values are bare glass.
        openness: Above which value that is.
        fibres: Texture of the stroma.
        coarse: Slow variation of the stroma.
        red_cells: ``(N, 2)`` centres of red blood cells, um.
        tint: Haematoxylin bound everywhere.
        cytoplasm: Haematoxylin bound in a nest besides, between the nuclei.
    """

    nest: Nest | None
    nuclei: tuple[Nuclei, ...]
    gaps: Waves
    openness: float
    fibres: Waves
    coarse: Waves
    red_cells: Map
    tint: float
    cytoplasm: float

    @staticmethod
    def draw(stroma: np.random.Generator, cells: np.random.Generator, nest: Nest | None) -> Tissue:
        """Draw a tile's tissue.

        Args:
            stroma: Source of all that is the same with and without the nest.
            cells: Source of the nuclei.
            nest: The tumour nest, if any.
        """
        gaps, coarse = Waves.draw(stroma, (35, 90)), Waves.draw(stroma, (25, 70))
        fibres = Waves.draw(stroma, (5, 12), along=stroma.uniform(0, np.pi))
        follicles, openness = Waves.draw(stroma, (60, 140)), stroma.uniform(1.0, 2.6)
        red_cells = stroma.uniform(-_REACH, _REACH, size=(stroma.poisson(0.5) * 4, 2))
        sparse = stroma.uniform(0.1, 0.3)
        tint, cytoplasm = stroma.uniform(0.02, 0.1), stroma.uniform(0.02, 0.14)

        points = _lattice(cells, cells.uniform(7.5, 9.0))
        crowded = 1 / (1 + np.exp(-6 * (follicles.at(points) - 0.7)))
        wanted = sparse + (0.85 - sparse) * crowded
        if nest is not None:
            wanted = np.where(nest.depth(*points.T) > 0, 0.06, wanted)
        points = points[cells.uniform(size=len(points)) < wanted]
        nuclei = [Nuclei.draw(cells, points, (2.3, 3.3), 1.6, 0.0, (1.0, 0.15), 0.15)]
        if nest is not None:
            points = _lattice(cells, cells.uniform(8.5, 11.5))
            points = points[nest.depth(*points.T) > _SMOOTH_UM]
            points = points[cells.uniform(size=len(points)) < 0.85]
            nuclei.append(Nuclei.draw(cells, points, (3.1, 5.2), 1.7, 0.2, (0.9, 0.2), 0.55))
        on_tissue = tuple(kind.kept(gaps.at(kind.points) < openness) for kind in nuclei)
        return Tissue(nest, on_tissue, gaps, openness, fibres, coarse, red_cells, tint, cytoplasm)


def render(tissue: Tissue, size: int) -> Scene:
    """Show a tile's tissue at a size.

    Args:
        tissue: The content of the tile.
        size: Pixels per side; the tile stays `FIELD_UM`.

    Returns:
        Densities of both dyes' targets, and the nest, ``(size, size)`` each.

    Example:
        >>> streams = [np.random.default_rng(n) for n in range(2)]
        >>> scene = render(Tissue.draw(*streams, nest=None), 48)
        >>> scene.eosin.shape, bool(scene.tumour.any()), bool(scene.haematoxylin.max() > 0.5)
        ((48, 48), False, True)
    """
    line, pixel = grid(size), FIELD_UM / size
    solid = np.clip((tissue.openness - tissue.gaps.on(line)) * 8 + 0.5, 0, 1)
    coarse = tissue.coarse.on(line)
    eosin = (0.75 + 0.28 * tissue.fibres.on(line) + 0.12 * coarse).clip(0.15, 1.6)
    haematoxylin, tumour = np.full((size, size), tissue.tint), np.zeros((size, size), bool)
    if tissue.nest is not None:
        depth = tissue.nest.depth(line[:, None], line)
        tumour = depth > 0
        nest = np.clip(depth / max(_SMOOTH_UM, pixel) + 0.5, 0, 1)
        eosin = eosin + (0.65 + 0.1 * coarse - eosin) * nest
        haematoxylin = haematoxylin + tissue.cytoplasm * nest
    eosin, haematoxylin = eosin * solid, haematoxylin * solid
    for kind in tissue.nuclei:
        chromatin = kind.density(size)
        haematoxylin = np.maximum(haematoxylin, chromatin)
        eosin = eosin * (1 - 0.6 * chromatin.clip(0, 1))
    for y, x in tissue.red_cells:
        rho = np.hypot(line[:, None] - y, line - x) / _RED_CELL_UM
        disc = np.clip((1 - rho) * _RED_CELL_UM / pixel + 0.5, 0, 1)
        eosin = np.maximum(eosin, 1.9 * disc * (0.75 + 0.25 * rho.clip(0, 1)))
    return Scene(haematoxylin, eosin, tumour)
