"""A scan from one DICOM file, or from a folder with a file for each slice.

Source:
    Our choice: only files directly in a folder count; a series of several slices goes before single
    pictures beside it (localizers, dose reports), and two such series are never guessed between.
"""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.dicom_file import DESCRIPTION, PLACE, SHAPE, functional_group, open_dicom
from medldr.data.files.dicom_geometry import (
    NO_THICKNESS,
    Plane,
    Stack,
    plane_of,
    planes_of,
    spacing_of_pixels,
    stack,
    thickness_of,
)
from medldr.data.files.dicom_pixels import Frames, frames_of
from medldr.data.files.nifti import canonical, spacing_of
from medldr.data.files.quiet import quiet
from medldr.data.files.scan import Scan, ScanError

_HEADER: Final = (*DESCRIPTION, *SHAPE, *PLACE)


class Slice(NamedTuple):
    """One file of a series.

    Attributes:
        path: The file.
        header: What it says about itself, without its pixels.
    """

    path: Path
    header: Any

    @property
    def frames(self) -> int:
        """Number of pictures in the file."""
        try:
            return max(1, int(self.header.get("NumberOfFrames") or 1))
        except (ValueError, TypeError):
            return 1


class Folder(NamedTuple):
    """The DICOM series in a folder.

    Attributes:
        series: Files with a picture, by SeriesInstanceUID.
        warnings: How many files are something else.
    """

    series: dict[str, list[Slice]]
    warnings: tuple[str, ...]


@quiet()
def read_dicom_file(path: Path) -> Scan:
    """Read one file.

    Args:
        path: The file, whatever its name.

    Returns:
        Of one frame, a picture ``(C, rows, columns)``, though it may be a slice of a volume, with
        the spacing between rows and between columns. Of several frames that have places, a volume
        ``(C, X, Y, Z)``, RAS+. Of others, ``(C, columns, rows, frames)`` in the order of the file.

    Raises:
        ScanError: If it is no DICOM file, holds no picture, or cannot be decoded.
    """
    dataset, assumed = open_dicom(path)
    frames = frames_of(dataset, assumed)
    count = len(frames.values)
    if count == 1:
        measures = functional_group(dataset, 0, "PixelMeasuresSequence") or dataset
        spacing, unknown = spacing_of_pixels(measures)
        return _scan(frames, frames.values[0].transpose(2, 0, 1), unknown, spacing=spacing)
    planes = planes_of(dataset, count)
    if planes is None:
        return replace(_scan(frames, _as_volume(frames), ()), frames=count)
    placed = stack(planes)
    return _placed(frames._replace(values=frames.values[placed.order]), placed)


@quiet()
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
    contents = list_folder(folder)
    files, left_out = _chosen(contents.series, series_uid)
    warnings = (*contents.warnings, *left_out)
    if len(files) == 1 and files[0].frames > 1:
        scan = read_dicom_file(files[0].path)
        return replace(scan, warnings=(*warnings, *scan.warnings))
    files, copies = _without_copies(files)
    warnings = (*warnings, *copies)
    _require_alike(files)
    planes = [plane_of(file.header) for file in files]
    if len(files) == 1 and planes[0] is None:
        return _unplaced(files[0], warnings)
    placed = stack(_all_placed(planes))
    frames = _frames_of_all([files[index] for index in placed.order])
    return _placed(frames._replace(warnings=(*warnings, *frames.warnings)), placed)


def list_folder(folder: Path) -> Folder:
    """Look at every file that is directly in a folder, save hidden ones and a DICOMDIR.

    Raises:
        ScanError: If none of them is a DICOM file with a picture.
    """
    series: dict[str, list[Slice]] = {}
    foreign = without = 0
    paths = sorted(p for p in folder.iterdir() if p.is_file() and not _passed_over(p.name))
    for path in paths:
        try:
            header, _ = open_dicom(path, _HEADER)
        except ScanError:
            foreign += 1
            continue
        if "Rows" not in header:
            without += 1
            continue
        uid = str(header.get("SeriesInstanceUID") or "")
        series.setdefault(uid, []).append(Slice(path, header))
    if not series:
        deeper = any(p.is_dir() and not _passed_over(p.name) for p in folder.iterdir())
        cure = ". It has folders of its own: name the one that the slices are in" if deeper else ""
        raise ScanError(f"none of the {len(paths)} files in this folder is a DICOM picture{cure}")
    return Folder(
        series,
        tuple(
            f"{'1 file is' if count == 1 else f'{count} files are'} {what} and left out"
            for count, what in ((foreign, "not readable DICOM"), (without, "without a picture"))
            if count
        ),
    )


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name.casefold() == "dicomdir"


def _chosen(series: dict[str, list[Slice]], uid: str | None) -> tuple[list[Slice], tuple[str, ...]]:
    """The series that is meant, and how many files of others are left out.

    Args:
        series: Files by SeriesInstanceUID; at least one.
        uid: The one that is asked for; None for the only one of several slices.

    Raises:
        ScanError: If there is no such series, or several could be meant.
    """
    if uid is not None:
        if uid not in series:
            raise ScanError(
                f"none of the {len(series)} series in this folder has the SeriesInstanceUID that "
                "is written after the #"
            )
        return series[uid], ()  # the others are left out by whoever asked
    many = [files for files in series.values() if sum(file.frames for file in files) > 1]
    candidates = many or list(series.values())
    if len(candidates) > 1:
        listed = "; ".join(_described(files) for files in candidates)
        kind = "of several slices" if many else "of one picture each"
        raise ScanError(
            f"the folder holds {len(candidates)} series {kind}: {listed}. Say which one is meant "
            "by its SeriesInstanceUID: FOLDER#<SeriesInstanceUID>"
        )
    others = sum(map(len, series.values())) - len(candidates[0])
    if not others:
        return candidates[0], ()
    plural = "" if others == 1 else "s"
    beside = "another series" if len(series) == 2 else f"{len(series) - 1} other series"
    return candidates[0], (f"{others} file{plural} of {beside} left out",)


def _described(files: list[Slice]) -> str:
    count = sum(file.frames for file in files)
    header = files[0].header
    modality = str(header.get("Modality") or "")
    description = str(header.get("SeriesDescription") or "").strip()
    named = f" {description!r}" if description else ""
    slices = "slice" if count == 1 else "slices"
    return " ".join(part for part in (f"{count} {slices}", modality) if part) + named


def _without_copies(files: Sequence[Slice]) -> tuple[list[Slice], tuple[str, ...]]:
    """Files of which each holds another slice: one that was copied counts once.

    Some anonymisers give all slices one UID, echoes of one place too, so the content decides.
    """
    unlike: list[Slice] = []
    by_uid: dict[str, list[Slice]] = {}
    for number, file in enumerate(files):
        alike = by_uid.setdefault(str(file.header.get("SOPInstanceUID") or number), [])
        if not any(_is_copy(file, other) for other in alike):
            alike.append(file)
            unlike.append(file)
    copies = len(files) - len(unlike)
    if not copies:
        return unlike, ()
    return unlike, (f"{copies} of its {len(files)} files repeat a slice and are left out",)


def _is_copy(file: Slice, other: Slice) -> bool:
    same = all(
        str(file.header.get(name)) == str(other.header.get(name))
        for name in ("ImagePositionPatient", "InstanceNumber")
    )
    return same and filecmp.cmp(file.path, other.path, shallow=False)


def _require_alike(files: Sequence[Slice]) -> None:
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


def _all_placed(planes: Sequence[Plane | None]) -> list[Plane]:
    placed = [plane for plane in planes if plane is not None]
    if len(placed) < len(planes):
        raise ScanError(
            f"{len(planes) - len(placed)} of its {len(planes)} slices do not say where they lie "
            "(no ImagePositionPatient or ImageOrientationPatient), and their names do not count. "
            "If they are pictures of their own, name each file"
        )
    return placed


def _frames_of_all(files: Sequence[Slice]) -> Frames:
    """All slices; mode, modality and window are those of the middle one."""
    slices: list[Frames] = []
    for number, file in enumerate(files, start=1):
        try:
            slices.append(frames_of(*open_dicom(file.path)))
        except ScanError as error:
            raise ScanError(f"slice {number} of {len(files)}: {error}") from error
    bits = {one.bits for one in slices}
    return slices[len(files) // 2]._replace(
        values=np.concatenate([one.values for one in slices]),
        bits=bits.pop() if len(bits) == 1 else None,
        warnings=tuple(text for one in slices for text in one.warnings),
    )


def _unplaced(file: Slice, warnings: tuple[str, ...]) -> Scan:
    """A volume of one slice that does not say where it lies."""
    frames = _frames_of_all([file])
    in_plane, unknown = spacing_of_pixels(file.header)
    thickness = thickness_of(file.header)
    unknown = (*unknown, "it does not say how the patient lay: its axes stay as stored")
    if thickness is None:
        unknown = (*unknown, NO_THICKNESS)
    spacing = (in_plane[1], in_plane[0], thickness) if in_plane and thickness else None
    frames = frames._replace(warnings=(*warnings, *frames.warnings))
    return _scan(frames, _as_volume(frames), unknown, spacing=spacing)


def _placed(frames: Frames, placed: Stack) -> Scan:
    """A volume of slices in the order of their places, RAS+."""
    values, affine = canonical(_as_volume(frames), placed.affine)
    if not placed.measured:
        return _scan(frames, values, placed.warnings)
    return _scan(frames, values, placed.warnings, spacing=spacing_of(affine), affine=affine)


def _as_volume(frames: Frames) -> NDArray[Any]:
    """``(C, columns, rows, frames)``."""
    return frames.values.transpose(3, 2, 1, 0)


def _scan(
    frames: Frames,
    values: NDArray[Any],
    warnings: tuple[str, ...],
    *,
    spacing: tuple[float, ...] | None = None,
    affine: NDArray[np.float64] | None = None,
) -> Scan:
    return Scan(
        values=np.ascontiguousarray(values),
        kind="dicom",
        mode=frames.mode,
        spacing=spacing,
        affine=affine,
        bits=frames.bits,
        modality=frames.modality,
        window=frames.window,
        warnings=tuple(dict.fromkeys((*frames.warnings, *warnings))),
    )
