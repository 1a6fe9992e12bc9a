"""From a scan to the image that training, evaluation and prediction see.

Source:
    Resampling keeps the outer edges of a scan, so that its extent in mm stays what it was: the
    number of pixels is rounded, and the spacing is that of the rounded number. MONAI's `Resize`
    interpolates linearly and, where pixels become fewer, blurs first (a Gaussian of half the excess
    of the ratio over 1), so that thin slices are averaged and not skipped. Pictures of floating
    point are resized by torch's antialiased bilinear filter, the one that Pillow has.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from medldr import offline
from medldr.data.files.combined import on_grid_of, stacked
from medldr.data.files.geometry import (
    around_mask,
    around_point,
    as_dims,
    as_shown,
    as_stored,
    squashed,
)
from medldr.data.files.intensity import as_channels, to_unit, value_range
from medldr.data.files.read import MASK_GROUND, READER, makers, of_mask, read_scan
from medldr.data.files.rules import Rules
from medldr.data.files.scan import Scan, ScanError, Source, times
from medldr.data.image_table import FileImages
from medldr.errors import InputError

LARGEST: Final = 2**31
"""Most values of an image: at a spacing far too fine it would fill any memory."""

NO_SPACING: Final = (
    "it does not say its spacing, which data.spacing needs. Add it to the file (PixelSpacing in "
    "DICOM, pixdim in NIfTI), or leave data.spacing unset"
)


def make_image(source: Source, rules: Rules) -> NDArray[Any]:
    """The image of one item; of several images, all of them after one another.

    Args:
        source: Where it is.
        rules: Of the data set, resolved.

    Returns:
        ``(C, H, W)`` or ``(C, X, Y, Z)``: uint8 where ``rules.eight_bit``, else float32 in [0, 1].

    Raises:
        ScanError: If it cannot be used.
    """
    return image_of_item(read_images(source, rules), source, rules)


def read_images(source: Source, rules: Rules) -> list[Scan | None]:
    """Each image of an item, as its file holds it; None for one that is missing.

    Raises:
        ScanError: If one cannot be used; names its column where there are several.
    """
    read = functools.partial(read_scan, dims=rules.dims, ground=rules.ground, exif=rules.exif)
    if rules.combined is None:
        return [read(source)]
    scans: list[Scan | None] = []
    for name, image in zip(rules.combined.names, source.images, strict=True):
        try:
            scans.append(None if image is None else read(image))
        except ScanError as error:
            raise ScanError(f"{name}: {error}") from error
    return scans


def image_of_item(scans: Sequence[Scan | None], source: Source, rules: Rules) -> NDArray[Any]:
    """The image of an item whose images were read; see `make_image`."""
    how = rules.combined
    first = next(scan for scan in scans if scan is not None)
    if how is None:
        return image_of(first, source, rules)
    images: list[NDArray[Any] | None] = []
    for number, scan in enumerate(scans):
        try:
            if scan is not None and how.combine == "channels":
                scan = on_grid_of(first, scan, how)
            images.append(None if scan is None else image_of(scan, source, rules.of_image(number)))
        except ScanError as error:
            raise ScanError(f"{how.names[number]}: {error}") from error
    return stacked(images)


def image_of(scan: Scan, source: Source, rules: Rules) -> NDArray[Any]:
    """The image of a scan that was read.

    Args:
        scan: What the item holds.
        source: Where it is, and what it is cut around.
        rules: Of the data set, resolved.

    Raises:
        ScanError: If it cannot be used.
    """
    scan = kept_part(scan, source, rules)
    if rules.eight_bit:
        return _eight_bit(scan, rules)
    image = to_unit(scan.values, *value_range(scan, rules))
    return fit(as_channels(image, rules.channels), scan.spacing, rules)


def kept_part(scan: Scan, source: Source, rules: Rules) -> Scan:
    """The part of a scan that is kept, with the axes of the data set.

    Raises:
        ScanError: If its mask or point does not fit.
    """
    scan = as_dims(scan, rules)
    if rules.crop is None:
        return scan
    if source.mask is not None:
        try:
            mask = read_scan(source.mask, rules.dims, ground=MASK_GROUND, exif=rules.exif)
        except ScanError as error:
            raise ScanError(of_mask(str(error))) from error
        return around_mask(scan, as_dims(mask, rules), rules.crop)
    if source.point is not None:
        return around_point(scan, source.point, rules.crop)
    raise ScanError("its row gives neither a mask nor a point (data.crop)")


def _eight_bit(scan: Scan, rules: Rules) -> NDArray[np.uint8]:
    """A picture of 8 bits, resized as Pillow resizes, so that it stays one."""
    pixels: NDArray[np.uint8] = as_channels(scan.values, rules.channels)
    if rules.size is None or pixels.shape[1:] == rules.size:
        return np.ascontiguousarray(pixels)
    if not rules.pad:
        return squashed(pixels, (rules.size[0], rules.size[1]))
    from PIL import Image  # with a run's first picture, not with its start

    height, width = rules.size
    picture = Image.fromarray(as_shown(pixels))
    padded = Image.new(picture.mode, (width, height))
    padded.paste(picture, (_start(width, picture.width), _start(height, picture.height)))
    return as_stored(padded)


def _start(wanted: int, has: int) -> int:
    """Where the first pixel comes to lie along an axis; below 0 where it is cut off.

    Source:
        MONAI's ``ResizeWithPadOrCrop``, which places images of floating point.

    Example:
        >>> _start(10, 7), _start(4, 7)
        (1, -1)
    """
    return (wanted - has) // 2 if wanted >= has else wanted // 2 - has // 2


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
        placed = offline.load("monai.transforms").ResizeWithPadOrCrop(rules.size)(
            torch.from_numpy(values)
        )
        return np.ascontiguousarray(np.asarray(placed), dtype=np.float32)
    return _resized(values, rules.size)


def unfit(
    values: NDArray[np.float32],
    spatial: tuple[int, ...],
    spacing: tuple[float, ...] | None,
    rules: Rules,
) -> NDArray[np.float32]:
    """A map of an image, such as a heat map, on the grid of the scan: what `fit` did, undone.

    Args:
        values: ``(X, Y, Z)``, a value for each voxel of the image.
        spatial: Voxels of the scan, or of the part of it that was kept, along each axis.
        spacing: mm between them; None if unknown.
        rules: Of the data set.

    Returns:
        A value for each voxel of the scan; 0 where the image had none.
    """
    if rules.pad and rules.size is not None:
        wide = spatial if rules.spacing is None else spaced(spatial, spacing, rules.spacing)
        whole = np.zeros(wide, np.float32)
        starts = [_start(wanted, has) for wanted, has in zip(rules.size, wide, strict=True)]
        there = zip(wide, rules.size, starts, strict=True)
        kept = [(max(0, -start), min(has, wanted - start)) for has, wanted, start in there]
        of_image = zip(kept, starts, strict=True)
        part = values[tuple(slice(low + start, high + start) for (low, high), start in of_image)]
        whole[tuple(slice(*bounds) for bounds in kept)] = part
        values = whole
    if values.shape == spatial:
        return values
    stored = torch.from_numpy(np.ascontiguousarray(values))[None, None]
    resized = torch.nn.functional.interpolate(
        stored, spatial, mode="trilinear", align_corners=False
    )
    return resized[0, 0].numpy()


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
        raise ScanError(NO_SPACING)
    pixels = tuple(
        max(1, round(n * has / want)) for n, has, want in zip(shape, spacing, wanted, strict=True)
    )
    if int(np.prod(pixels, dtype=np.float64)) > LARGEST:
        raise ScanError(
            f"at the spacing {' x '.join(f'{mm:g}' for mm in wanted)} mm it would have "
            f"{times(pixels)} pixels. Choose a larger data.spacing"
        )
    return pixels


def _resized(values: NDArray[np.float32], size: tuple[int, ...]) -> NDArray[np.float32]:
    if values.shape[1:] == size:
        return values
    if len(size) == 2:
        picture = torch.from_numpy(np.ascontiguousarray(values))[None]
        resized = torch.nn.functional.interpolate(
            picture, size=size, mode="bilinear", antialias=True, align_corners=False
        )
        return resized[0].clamp_(0, 1).numpy()
    resize = offline.load("monai.transforms").Resize(size, mode="trilinear", anti_aliasing=True)
    volume = resize(torch.from_numpy(np.ascontiguousarray(values)))
    return np.ascontiguousarray(np.asarray(volume), dtype=np.float32)


class ScanImages(FileImages):
    """Images of items by the rules of their data set, in row order.

    Args:
        sources: ``(N,)`` items.
        contents: ``(N,)`` what decides each item's image beside the rules: checksum of its values,
            facts of its header, and the same of its mask.
        rules: How an item becomes an image.
        spatial: Pixels along each axis.

    Attributes:
        shape: ``(N, C, H, W)`` or ``(N, C, X, Y, Z)``.
        dtype: uint8, or float32 in [0, 1].
        stamp: Changes with the rules, with the content or header of any file, and with their order.
        key: Changes with the stamp and with the versions of what reads files and makes images.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        contents: Sequence[str],
        rules: Rules,
        spatial: tuple[int, ...],
    ) -> None:
        self.sources = tuple(sources)
        self.rules = rules
        images = 1 if rules.combined is None else len(rules.combined.names)
        self.shape = (len(self.sources), images * rules.channels, *spatial)
        self.dtype = np.dtype(np.uint8 if rules.eight_bit else np.float32)
        self.stamp = _stamp(self.sources, contents, rules, self.shape)
        self.key = hashlib.sha256(f"{self.stamp} {READER} {makers()}".encode()).hexdigest()

    def image(self, row: int) -> NDArray[Any]:
        """The image of a row.

        Raises:
            InputError: If the item cannot be used; names it.
        """
        source = self.sources[row]
        try:
            image = make_image(source, self.rules)
        except ScanError as error:
            raise InputError(f"{source.path} cannot be used: {error}") from error
        if image.shape != self.shape[1:]:
            raise InputError(
                f"{source.path} is {times(image.shape)} now, but the others are "
                f"{times(self.shape[1:])}. Restore the file, or set data.size"
            )
        return image


def _stamp(
    sources: Sequence[Source], contents: Sequence[str], rules: Rules, shape: tuple[int, ...]
) -> str:
    digest = hashlib.sha256()
    digest.update(json.dumps([rules.as_dict(), shape], sort_keys=True).encode())
    for source, content in zip(sources, contents, strict=True):
        digest.update(json.dumps([content, source.part, source.point]).encode())
    return digest.hexdigest()
