"""The spatial side: one spacing, one size, by MONAI and torch.

Source:
    Resampling keeps the outer edges of a scan, so that its extent in mm stays what it was: the
    number of pixels is rounded, and the spacing is that of the rounded number. MONAI's `Resize`
    interpolates linearly and, where pixels become fewer, blurs first (a Gaussian of half the excess
    of the ratio over 1), so that thin slices are averaged and not skipped. Pictures of floating
    point are resized by torch's antialiased bilinear filter, the one that Pillow has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from medldr import offline
from medldr.data.scans.rules import Rules
from medldr.data.scans.scan import ScanError

LARGEST: int = 2**31
"""Values of an image; a spacing far too fine would fill any memory."""


def fit(
    values: NDArray[np.float32], spacing: tuple[float, ...] | None, rules: Rules
) -> NDArray[np.float32]:
    """An image of the spacing and size that the rules ask for.

    Args:
        values: ``(C, H, W)`` or ``(C, X, Y, Z)``, from 0 to 1.
        spacing: mm along each axis after the first; None if unknown.
        rules: Of the data set.

    Raises:
        ScanError: If the spacing is needed and unknown.
    """
    shape = values.shape[1:]
    if rules.spacing is not None:
        values = _resized(values, spaced(shape, spacing, rules.spacing))
    if rules.size is None:
        return values
    if rules.pad:
        placed = _monai().ResizeWithPadOrCrop(rules.size)(torch.from_numpy(values))
        return np.ascontiguousarray(np.asarray(placed), dtype=np.float32)
    return _resized(values, rules.size)


def spaced(
    shape: tuple[int, ...], spacing: tuple[float, ...] | None, wanted: tuple[float, ...]
) -> tuple[int, ...]:
    """Pixels along each axis at another spacing.

    Raises:
        ScanError: If the spacing is unknown, or the image would be far too large.

    Example:
        >>> spaced((512, 512, 40), (0.7, 0.7, 5.0), (1.4, 1.4, 2.5))
        (256, 256, 80)
    """
    if spacing is None:
        raise ScanError(
            "it does not say its spacing, which data.spacing needs. Add it to the file "
            "(PixelSpacing in DICOM, pixdim in NIfTI), or leave data.spacing unset"
        )
    found = tuple(
        max(1, round(n * has / want)) for n, has, want in zip(shape, spacing, wanted, strict=True)
    )
    if int(np.prod(found, dtype=np.float64)) > LARGEST:
        raise ScanError(
            f"at the spacing {' x '.join(f'{mm:g}' for mm in wanted)} mm it would have "
            f"{' x '.join(map(str, found))} pixels. Choose a larger data.spacing"
        )
    return found


def _resized(values: NDArray[np.float32], size: tuple[int, ...]) -> NDArray[np.float32]:
    if values.shape[1:] == size:
        return values
    if len(size) == 2:
        picture = torch.from_numpy(np.ascontiguousarray(values))[None]
        found = torch.nn.functional.interpolate(
            picture, size=size, mode="bilinear", antialias=True, align_corners=False
        )
        return found[0].clamp_(0, 1).numpy()
    resize = _monai().Resize(size, mode="trilinear", anti_aliasing=True)
    volume = resize(torch.from_numpy(np.ascontiguousarray(values)))
    return np.ascontiguousarray(np.asarray(volume), dtype=np.float32)


def _monai() -> Any:
    """MONAI's transforms, whose import takes seconds."""
    return offline.load("monai.transforms")
