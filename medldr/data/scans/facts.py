"""What is known of each item once it was read: enough to resolve rules and to fill a page.

Facts follow from a file's content and from two keys alone (`exif`, `ground`), so they are
remembered by content and hold for every data set that the file is in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from medldr.data.scans.crop import Grid
from medldr.data.scans.dims import seen_as
from medldr.data.scans.scan import Kind, Scan


class Facts(NamedTuple):
    """What one item is.

    Attributes:
        kind: Kind of file.
        mode: ``RGB``, ``12-bit grey``, ``int16`` and the like.
        shape: Of its values, channels first.
        spacing: mm along each axis; None if unknown.
        affine: Rows of the matrix from indices to mm; None if it does not say how the patient lay.
        bits: See `Scan.bits`.
        eight_bit: Whether it is a picture of 8 bits.
        modality: As DICOM names it; empty if unknown.
        low: Its lowest value.
        high: Its greatest value.
        window: Lowest and highest value that the file recommends to show; None if none.
        frames: Frames or pages.
        warnings: What was changed or assumed.
    """

    kind: Kind
    mode: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    affine: tuple[tuple[float, ...], ...] | None
    bits: int | None
    eight_bit: bool
    modality: str
    low: float
    high: float
    window: tuple[float, float] | None
    frames: int
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, scan: Scan) -> Facts:
        """The facts of a scan that was read."""
        values = scan.values
        return cls(
            kind=scan.kind,
            mode=scan.mode,
            shape=tuple(values.shape),
            spacing=scan.spacing,
            affine=None if scan.affine is None else _rows(scan.affine.tolist()),
            bits=scan.bits,
            eight_bit=scan.kind == "picture" and values.dtype == np.uint8,
            modality=scan.modality,
            low=float(values.min()),
            high=float(values.max()),
            window=scan.window,
            frames=scan.frames,
            warnings=scan.warnings,
        )

    def as_json(self) -> dict[str, Any]:
        """The facts as JSON has them."""
        return {**self._asdict(), "shape": list(self.shape), "warnings": list(self.warnings)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Facts:
        """The facts as `as_json` wrote them."""
        spacing, affine, window = (values[key] for key in ("spacing", "affine", "window"))
        return cls(
            **{
                **values,
                "shape": tuple(values["shape"]),
                "spacing": None if spacing is None else tuple(spacing),
                "affine": None if affine is None else _rows(affine),
                "window": None if window is None else tuple(window),
                "warnings": tuple(values["warnings"]),
            }
        )

    @property
    def spatial(self) -> tuple[int, ...]:
        """Pixels along each axis."""
        return self.shape[1:]

    def grid(self, dims: int) -> Grid:
        """Where its pixels lie, once a data set has that many axes."""
        spatial, spacing = seen_as(self.spatial, self.spacing, dims)
        placed = self.affine is not None and len(spatial) == 3
        return Grid(spatial, spacing, np.array(self.affine) if placed else None)


def _rows(matrix: Iterable[Iterable[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in matrix)
