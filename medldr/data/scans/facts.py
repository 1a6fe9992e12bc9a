"""What is known of each item once it was read: enough to resolve rules and to fill a page.

Facts follow from a file's content and from two keys alone (`exif`, `ground`), so they are
remembered by content and hold for every data set that the file is in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from medldr.data.scans.scan import Kind, Scan


class Facts(NamedTuple):
    """What one item is.

    Attributes:
        kind: Kind of file.
        mode: ``RGB``, ``12-bit grey``, ``int16`` and the like.
        shape: Of its values, channels first.
        spacing: mm along each axis; None if unknown.
        oriented: Whether it says how the patient lay.
        bits: See `Scan.bits`.
        eight_bit: Whether it is a picture of 8 bits.
        modality: As DICOM names it; empty if unknown.
        low: Its lowest value.
        high: Its greatest value.
        frames: Frames or pages.
        warnings: What was changed or assumed.
    """

    kind: Kind
    mode: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    oriented: bool
    bits: int | None
    eight_bit: bool
    modality: str
    low: float
    high: float
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
            oriented=scan.affine is not None,
            bits=scan.bits,
            eight_bit=scan.kind == "picture" and values.dtype == np.uint8,
            modality=scan.modality,
            low=float(values.min()),
            high=float(values.max()),
            frames=scan.frames,
            warnings=scan.warnings,
        )

    def as_json(self) -> dict[str, Any]:
        """The facts as JSON has them."""
        return {**self._asdict(), "shape": list(self.shape), "warnings": list(self.warnings)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Facts:
        """The facts as `as_json` wrote them."""
        spacing = values["spacing"]
        return cls(
            **{
                **values,
                "shape": tuple(values["shape"]),
                "spacing": None if spacing is None else tuple(spacing),
                "warnings": tuple(values["warnings"]),
            }
        )

    @property
    def spatial(self) -> tuple[int, ...]:
        """Pixels along each axis."""
        return self.shape[1:]
