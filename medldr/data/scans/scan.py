"""What a file holds, before any rule of a data set is applied to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["nifti", "dicom", "picture", "array"]


class ScanError(Exception):
    """Why a file cannot be used and what helps, without the file's name."""


@dataclass(frozen=True)
class Scan:
    """One picture or volume, as it was recorded.

    Attributes:
        values: ``(C, H, W)`` for a picture, rows from top to bottom; ``(C, X, Y, Z)`` for a volume,
            whose indices grow towards the patient's right, front and head (RAS+) where the file
            says how the patient lay. Frames of a film and pages of a file are ``(C, W, H, F)``,
            unturned. Numbers in the machine's own byte order, after the file's own rescaling
            (Hounsfield units of a CT).
        kind: Kind of file.
        mode: What a reader of a table wants to see: ``RGB``, ``12-bit grey``, ``int16``.
        spacing: mm between neighbours along each axis of `values` after the first; None if unknown.
        affine: ``(4, 4)``, from indices of a volume to mm (RAS+); None if unknown.
        bits: Bits of an unsigned whole number, where the file says so or its type does (8, 12, 16);
            None for other numbers.
        modality: As DICOM names it (CT, MR, DX); empty if unknown.
        window: Lowest and highest value that the file itself recommends to show; None if none.
        frames: Frames or pages in the file; 1 for a plain picture or volume.
        warnings: What was changed or assumed, a sentence each, without names.
    """

    values: NDArray[Any]
    kind: Kind
    mode: str
    spacing: tuple[float, ...] | None = None
    affine: NDArray[np.float64] | None = None
    bits: int | None = None
    modality: str = ""
    window: tuple[float, float] | None = None
    frames: int = 1
    warnings: tuple[str, ...] = field(default=())

    @property
    def is_volume(self) -> bool:
        """Whether it has three axes in space, or frames."""
        return self.values.ndim == 4
