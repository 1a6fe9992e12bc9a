"""The heat map of a volume as a NIfTI file on the grid of its scan, for a viewer to lay over it."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from medldr.data.files.image import kept_part, read_images, unfit
from medldr.data.files.rules import SCAN
from medldr.data.reading.new_item import ItemReader, NewItem
from medldr.folders.files import atomic
from medldr.prediction.items import Item


def write_heat_volume(
    path: Path, heat: NDArray[np.float32], item: Item, read: NewItem, reader: ItemReader
) -> None:
    """Write the heat map of a volume that a file holds; pictures and arrays have none.

    It has the voxels and the affine of the scan as `medldr.data.files.read` orders them (RAS+), or
    of the part that `data.crop` keeps, so that it lies on the scan in any viewer. Of a scan that
    does not say where it lies it has no affine either. Of images that become channels it is that
    of the first.

    Args:
        path: Where to write it, ``.nii.gz``.
        heat: ``(X, Y, Z)``, from 0 to 1, of the size of the stored image.
        item: What it explains.
        read: The same as it was read.
        reader: What read it.
    """
    facts = read.facts
    if heat.ndim != 3 or item.source is None or facts is None or reader.kind != SCAN:
        return
    spatial, spacing = facts.spatial, facts.spacing
    affine = None if facts.affine is None else np.array(facts.affine)
    if reader.rules.crop is not None:
        scans = read_images(item.source, reader.rules)
        first = next(scan for scan in scans if scan is not None)
        part = kept_part(first, item.source, reader.rules)
        spatial, spacing, affine = part.spatial, part.spacing, part.affine
    values = unfit(heat, spatial, spacing, reader.rules)
    volume: Any = nibabel.Nifti1Image(values, affine)  # type: ignore[no-untyped-call]
    if affine is None and spacing is not None:
        volume.header.set_zooms(spacing)
    with atomic(path) as place:
        place.write_bytes(gzip.compress(volume.to_bytes(), mtime=0))
