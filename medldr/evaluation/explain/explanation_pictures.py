"""An image and its heat map side by side, as a radiologist or pathologist is used to see it.

Source:
    Our choice: each picture is 256 to 512 pixels long; matplotlib's ``inferno``, in which equal
    steps look equal also in grey and to the colour-blind; at most 70% of a pixel is covered, so
    that the finding below stays visible. Sides of volumes follow the radiological convention.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

Floats = NDArray[np.floating[Any]]

PLANES: Final = ("axial", "coronal", "sagittal")
"""The planes of a volume in the order in which `explanation` draws them, from left to right."""

SHORTEST: Final = 256
LONGEST: Final = 512
COLOURS: Final = "inferno"
OPACITY: Final = 0.7
GAP: Final = 8


def explanation(
    shown: NDArray[Any], heat: NDArray[Any], spacing: Sequence[float] | None = None
) -> Image.Image:
    """What a clinician sees: the image, and the image under its heat map.

    The stronger the heat, the brighter its colour and the less of the image shows through; where
    there is none, the image is as it is. Pixels are enlarged as they are, the heat is smoothed.
    There is no text in the picture.

    A picture is drawn with its heat map to the right. Of a volume, the planes of `PLANES` through
    the voxel of the strongest heat (the middle, if all is zero) are drawn side by side, and below
    each the same with the heat map, all to one scale:

    - axial, seen from the feet: the patient's right on the left of the picture, front up;
    - coronal, seen from the front: the patient's right on the left of the picture, head up;
    - sagittal, seen from the patient's left: front on the left of the picture, head up.

    These sides are true of volumes in RAS+. Others are cut along their axes in the same way.

    Args:
        shown: The image as it is looked at, not as it is normalised for the network: ``(C, H, W)``,
            or ``(C, X, Y, Z)``, whose indices grow towards the patient's right, front and head;
            floats from 0 to 1, or uint8. Of other than one or three channels, the first is shown.
        heat: From 0 to 1, ``(H, W)`` or ``(X, Y, Z)``, as `grad_cam` gives it.
        spacing: Lengths of a pixel along its axes, in any one unit; unset: all equal.

    Returns:
        A picture in RGB.

    Raises:
        InputError: If image, heat and spacing do not fit together.

    Example:
        >>> explanation(np.zeros((1, 28, 28)), np.zeros((28, 28))).size
        (568, 280)
        >>> explanation(np.zeros((1, 8, 8, 4)), np.zeros((8, 8, 4)), (1.0, 1.0, 2.0)).size
        (784, 520)
    """
    image, heat = np.asarray(shown), np.asarray(heat, np.float32)
    lengths = np.ones(heat.ndim) if spacing is None else np.asarray(spacing, np.float64)
    _check(image, heat, lengths)
    if image.dtype == np.uint8:
        image = image / np.float32(255)
    image = image if len(image) == 3 else image[:1]
    size = max(heat.shape)
    wanted = min(LONGEST, size * -(-SHORTEST // size))  # a whole multiple, unless it is shrunk
    scale = wanted / float((lengths * heat.shape).max())
    pairs = [_pair(plane, scale) for plane in _planes(image, heat, lengths)]
    if len(pairs) == 1:
        return _sheet([list(pairs[0])])
    return _sheet([[plain for plain, _ in pairs], [warm for _, warm in pairs]])


def explanations(
    shown: Sequence[NDArray[Any]],
    heats: Sequence[NDArray[Any]],
    spacing: Sequence[float] | None = None,
) -> Image.Image:
    """The same for the images of one item, one below the other; see `explanation`."""
    pairs = zip(shown, heats, strict=True)
    return _sheet([[explanation(image, heat, spacing)] for image, heat in pairs])


class _Plane(NamedTuple):
    """A picture as it is drawn: rows downwards, columns to the right."""

    pixels: Floats
    heat: Floats
    lengths: Floats


def _check(image: NDArray[Any], heat: Floats, lengths: Floats) -> None:
    if heat.ndim not in (2, 3) or image.shape[1:] != heat.shape or 0 in image.shape:
        raise InputError(
            "an explanation needs an image (C, H, W) or (C, X, Y, Z) and its heat map without the "
            f"channels, but they have the shapes {image.shape} and {heat.shape}"
        )
    for name, values in (("image", image), ("heat map", heat)):
        if not np.isfinite(values).all():
            raise InputError(f"an explanation cannot be drawn: the {name} holds NaN or infinity")
    if lengths.shape != (heat.ndim,) or not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InputError(
            f"spacing must be {heat.ndim} lengths above 0, one for each axis, but it is "
            f"{lengths.tolist()}"
        )


def _planes(image: Floats, heat: Floats, lengths: Floats) -> list[_Plane]:
    """A picture itself; of a volume, its planes through the strongest heat."""
    if heat.ndim == 2:
        return [_Plane(image, heat, lengths)]
    at = np.unravel_index(heat.argmax(), heat.shape) if heat.any() else np.array(heat.shape) // 2
    planes: list[_Plane] = []
    for axis in (2, 1, 0):  # axial, coronal, sagittal
        # What is left are two of right, front and head: the later one is up, the earlier one left.
        pixels: Floats = np.take(image, int(at[axis]), axis=axis + 1)
        warmth: Floats = np.take(heat, int(at[axis]), axis=axis)
        drawn = pixels.swapaxes(1, 2)[:, ::-1, ::-1]
        planes.append(_Plane(drawn, warmth.T[::-1, ::-1], np.delete(lengths, axis)[::-1]))
    return planes


def _pair(plane: _Plane, scale: float) -> tuple[Image.Image, Image.Image]:
    """A plane and, under its heat map, the same again."""
    from matplotlib import colormaps
    from PIL import Image

    height, width = np.maximum(1, np.rint(plane.lengths * plane.heat.shape * scale)).astype(int)
    shrinks = height < plane.heat.shape[0] or width < plane.heat.shape[1]
    how = Image.Resampling.BILINEAR if shrinks else Image.Resampling.NEAREST

    def resized(values: Floats, how: Image.Resampling) -> Floats:
        picture = Image.fromarray(np.ascontiguousarray(values, np.float32))
        return np.asarray(picture.resize((int(width), int(height)), how)).clip(0, 1)

    channels = [resized(channel, how) for channel in plane.pixels]
    plain = np.stack(channels if len(channels) == 3 else channels * 3, axis=-1)
    heat = resized(plane.heat, Image.Resampling.BILINEAR)
    cover = OPACITY * heat[..., None]
    warm = (1 - cover) * plain + cover * colormaps[COLOURS](heat)[..., :3]
    first, second = (Image.fromarray(np.rint(255 * p).astype(np.uint8)) for p in (plain, warm))
    return first, second


def _sheet(rows: list[list[Image.Image]]) -> Image.Image:
    """Pictures in rows and columns on black, each in the middle of its cell."""
    from PIL import Image

    heights = [max(picture.height for picture in row) for row in rows]
    widths = [max(picture.width for picture in column) for column in zip(*rows, strict=True)]
    size = (sum(widths) + GAP * (len(widths) - 1), sum(heights) + GAP * (len(heights) - 1))
    sheet, top = Image.new("RGB", size), 0
    for row, height in zip(rows, heights, strict=True):
        left = 0
        for picture, width in zip(row, widths, strict=True):
            place = left + (width - picture.width) // 2, top + (height - picture.height) // 2
            sheet.paste(picture, place)
            left += width + GAP
        top += height + GAP
    return sheet
