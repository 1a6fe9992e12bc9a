"""A volume from a folder with one DICOM file for each slice."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from medldr.data.scans.dicom import read_dicom_file, scan_of, volume
from medldr.data.scans.dicom_folder import Slice, choose, list_folder
from medldr.data.scans.dicom_open import open_dicom
from medldr.data.scans.dicom_pixels import Pixels, decode
from medldr.data.scans.dicom_planes import Plane, plane_of, spacing_of_pixels, thickness_of
from medldr.data.scans.dicom_stack import stack
from medldr.data.scans.dicom_values import Values, values_of
from medldr.data.scans.quiet import quiet
from medldr.data.scans.scan import Scan, ScanError


def series_in(folder: Path) -> dict[str, list[Path]]:
    """The files of each series in a folder, by SeriesInstanceUID.

    Raises:
        ScanError: If none of its files is a DICOM picture.
    """
    with quiet():
        listing = list_folder(folder)
    return {uid: [file.path for file in files] for uid, files in listing.series.items()}


def read_dicom_series(folder: Path, series_uid: str | None = None) -> Scan:
    """Read a series.

    Args:
        folder: With its files, whatever their names; files deeper down are not looked at.
        series_uid: SeriesInstanceUID of the series that is meant; None for the only one of
            several slices.

    Returns:
        ``(C, X, Y, Z)``, RAS+ where the slices say how they lay, Z being 1 for a single slice.
        A file of several frames is read as `read_dicom_file` reads it.

    Raises:
        ScanError: If several series could be meant, if the slices do not make up one volume, or
            if one of them cannot be read.
    """
    with quiet():
        listing = list_folder(folder)
        files, left_out = choose(listing.series, series_uid)
        said = (*listing.warnings, *left_out)
        if len(files) == 1 and files[0].frames > 1:
            scan = read_dicom_file(files[0].path)
            return replace(scan, warnings=(*said, *scan.warnings))
        files, copies = _without_copies(files)
        said = (*said, *copies)
        _check_alike(files)
        planes = [plane_of(file.header) for file in files]
        if len(files) == 1 and planes[0] is None:
            return _unplaced(files[0], said)
        placed = stack(_known(planes))
        ordered = [files[index] for index in placed.order]
        dataset, pixels, values, noticed = _decoded(ordered)
        return volume(dataset, pixels, values, placed, (*said, *noticed))


def _without_copies(files: Sequence[Slice]) -> tuple[list[Slice], tuple[str, ...]]:
    """Files of which each holds another slice: one that was copied counts once.

    Some anonymisers give all slices one UID, echoes of one place too, so the content decides.
    """
    unlike: list[Slice] = []
    known: dict[str, list[Slice]] = {}
    for number, file in enumerate(files):
        alike = known.setdefault(str(file.header.get("SOPInstanceUID") or number), [])
        if not any(_is_copy(file, other) for other in alike):
            alike.append(file)
            unlike.append(file)
    copies = len(files) - len(unlike)
    told = (f"{copies} of its {len(files)} files repeat a slice and are left out",)
    return unlike, told if copies else ()


def _is_copy(file: Slice, other: Slice) -> bool:
    same = all(
        str(file.header.get(name)) == str(other.header.get(name))
        for name in ("ImagePositionPatient", "InstanceNumber")
    )
    return same and filecmp.cmp(file.path, other.path, shallow=False)


def _check_alike(files: Sequence[Slice]) -> None:
    if any(file.frames > 1 for file in files):
        raise ScanError(
            f"its {len(files)} files have several frames each. Name the file that is meant, not "
            "the folder"
        )
    sizes = Counter(f"{file.header.get('Rows')} x {file.header.get('Columns')}" for file in files)
    if len(sizes) > 1:
        listed = ", ".join(f"{count} of {size}" for size, count in sizes.most_common())
        raise ScanError(
            f"its slices are of different sizes in one series: {listed} (rows x columns). Put "
            "the localizer, or whatever is no slice of the volume, elsewhere"
        )
    if len({str(file.header.get("SamplesPerPixel", 1)) for file in files}) > 1:
        raise ScanError("some of its slices are grey and some in colour")


def _known(planes: Sequence[Plane | None]) -> list[Plane]:
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes):
        raise ScanError(
            f"{len(planes) - len(known)} of its {len(planes)} slices do not say where they lie "
            "(no ImagePositionPatient or ImageOrientationPatient), and their names do not count. "
            "If they are pictures of their own, name each file"
        )
    return known


def _decoded(files: Sequence[Slice]) -> tuple[Any, Pixels, Values, tuple[str, ...]]:
    """All slices; data set, mode and window are those of the middle one."""
    slices, bits = [], set()
    said: dict[str, None] = {}
    middle: tuple[Any, Pixels, Values] | None = None
    for number, file in enumerate(files):
        try:
            dataset, assumed = open_dicom(file.path)
            pixels = decode(dataset)
            values = values_of(dataset, pixels)
        except ScanError as error:
            raise ScanError(f"slice {number + 1} of {len(files)}: {error}") from error
        said.update(dict.fromkeys((*assumed, *values.warnings)))
        slices.append(values.frames)
        bits.add(values.bits)
        if middle is None or number <= len(files) // 2:
            middle = dataset, pixels, values
    assert middle is not None
    dataset, pixels, values = middle
    together = values._replace(
        frames=np.concatenate(slices), bits=bits.pop() if len(bits) == 1 else None
    )
    return dataset, pixels, together, tuple(said)


def _unplaced(file: Slice, said: tuple[str, ...]) -> Scan:
    """A volume of one slice that does not say where it lies."""
    dataset, pixels, values, noticed = _decoded([file])
    in_plane, unknown = spacing_of_pixels(dataset)
    thickness = thickness_of(dataset)
    said = (
        *said,
        *noticed,
        *unknown,
        "it does not say how the patient lay: its axes stay as stored",
    )
    if thickness is None:
        said = (*said, "its single slice has no thickness: the spacing is unknown")
    spacing = None
    if in_plane and thickness:
        spacing = (in_plane[1], in_plane[0], thickness)
    numbers = values.frames.transpose(3, 2, 1, 0)
    return scan_of(dataset, pixels, values, numbers, said, spacing=spacing)
