"""A scan from one DICOM file, or from a folder with a file for each slice.

Source:
    Our choice: only files directly in a folder count; a series of several slices goes before single
    pictures beside it (localizers), masks, maps and doses (SEG, RTDOSE) are no scans beside images
    of a scanner, and secondary captures (dose reports) none beside a series of it. Two series that
    are left are never guessed between.
"""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some, tally
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
    upright,
)
from medldr.data.files.dicom_pixels import Frames, frames_of
from medldr.data.files.nifti import canonical, spacing_of
from medldr.data.files.origin import NEAREST_FIRST, Origin, made_beside, origin_of
from medldr.data.files.quiet import quiet
from medldr.data.files.scan import Scan, ScanError, times

_HEADER: Final = (*DESCRIPTION, *SHAPE, *PLACE)
_TURNED: Final = "it was turned upright, because its header says how the patient lay"
_LOCALIZER: Final = "it is a localizer: a picture of its own, and no slice of a volume"


class Slice(NamedTuple):
    """One file of a series.

    Attributes:
        path: The file.
        header: What it says about itself, without its pixels.
    """

    path: Path
    header: Any

    @property
    def series_uid(self) -> str:
        """SeriesInstanceUID; empty if it has none."""
        return str(self.header.get("SeriesInstanceUID") or "")

    @property
    def origin(self) -> Origin:
        """Whether it was recorded or made."""
        return origin_of(self.header)

    @property
    def frames(self) -> int:
        """Number of pictures in the file."""
        return self.origin.frames


class Folder(NamedTuple):
    """The DICOM series in a folder.

    Attributes:
        series: Files with a picture, by SeriesInstanceUID.
        warnings: How many files are something else, if any.
    """

    series: dict[str, list[Slice]]
    warnings: tuple[str, ...]


@quiet()
def read_dicom_file(path: Path) -> Scan:
    """Read one file.

    Args:
        path: The file, whatever its name.

    Returns:
        Of one frame, a picture ``(C, rows, columns)``, though it may be a slice of a volume, turned
        as `upright` does it, with the spacing between rows and between columns. Of several frames
        that have places, a volume ``(C, X, Y, Z)``, RAS+. Of others, ``(C, columns, rows, frames)``
        in the order of the file.

    Raises:
        ScanError: If it is no DICOM file, holds no picture, or cannot be decoded.
    """
    dataset, assumed = open_dicom(path)
    origin = origin_of(dataset)
    try:
        frames = frames_of(dataset, assumed)._replace(origin=origin)
    except ScanError as error:
        error.origin = origin
        raise
    count = len(frames.values)
    if count == 1:
        measures = functional_group(dataset, 0, "PixelMeasuresSequence") or dataset
        spacing, unknown = spacing_of_pixels(measures)
        values, spacing = upright(_as_volume(frames), spacing, dataset)
        turned = not np.array_equal(values, frames.values[0].transpose(2, 0, 1))
        said = (*unknown, *[_TURNED] * turned, *[_LOCALIZER] * (origin.made == "localizer"))
        return _scan(frames, values, said, spacing=spacing)
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
    planes = [plane_of(file.header, name=file.path.name) for file in files]
    if len(files) == 1 and planes[0] is None:
        return _unplaced(files[0], warnings)
    placed = stack(_all_placed(files, planes))
    frames = _frames_of_all([files[index] for index in placed.order])
    return _placed(frames._replace(warnings=(*warnings, *frames.warnings)), placed)


def list_folder(folder: Path) -> Folder:
    """Look at every file that is directly in a folder, save hidden ones and a DICOMDIR.

    Raises:
        ScanError: If none of them is a DICOM file with a picture.
    """
    series: dict[str, list[Slice]] = {}
    paths = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and not path.name.startswith(".") and path.name.casefold() != "dicomdir"
    )
    for path in paths:
        with suppress(ScanError):
            header, _ = open_dicom(path, _HEADER)
            if "Rows" in header:
                one = Slice(path, header)
                series.setdefault(one.series_uid, []).append(one)
    if not series:
        raise ScanError(
            f"none of the {len(paths)} files in this folder is a DICOM picture. Name the folder "
            "that the slices themselves are in"
        )
    others = len(paths) - sum(map(len, series.values()))
    if not others:
        return Folder(series, ())
    return Folder(series, (f"files without a DICOM picture are left out: {others}",))


def volumes_of(series: Mapping[str, list[Slice]]) -> list[list[Slice]]:
    """The files of each volume that a folder holds: what training and prediction take for one scan.

    A file of several frames is a volume of its own; so are all further files of a series where
    these are several. Where there is neither, each picture is one. What was made of a scan is none
    beside it: masks, maps, doses, captured screens and localizers.

    Args:
        series: Files by SeriesInstanceUID; at least one.
    """
    made = {file.origin.made for files in series.values() for file in files}
    nearest = min(made, key=NEAREST_FIRST.index)
    listed = [[file for file in files if file.origin.made == nearest] for files in series.values()]
    films = [[file] for files in listed for file in files if file.frames > 1]
    slices = [[file for file in files if file.frames == 1] for files in listed]
    volumes = [*films, *(files for files in slices if len(files) > 1)]
    return volumes or [files for files in slices if files]


def made_in(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Files of a folder of pictures that were made of others in it, and what each is called."""
    origins: list[Origin | None] = []
    for name in names:
        try:
            origins.append(origin_of(open_dicom(folder / name, _HEADER)[0]))
        except (ScanError, OSError):  # it is refused by its name, where it is read
            origins.append(None)
    return {names[place]: kind for place, kind in made_beside(origins).items()}


def _chosen(
    series: dict[str, list[Slice]], series_uid: str | None
) -> tuple[list[Slice], tuple[str, ...]]:
    """The volume that is meant, and what is left out beside it.

    Args:
        series: Files by SeriesInstanceUID; at least one.
        series_uid: The one that is asked for; None for the only volume.

    Raises:
        ScanError: If there is no such series, or several volumes could be meant.
    """
    if series_uid is not None:
        if series_uid not in series:
            raise ScanError(
                f"none of the {len(series)} series in this folder has the SeriesInstanceUID that "
                "is written after the #"
            )
        series = {series_uid: series[series_uid]}  # the others are left out by whoever asked
    volumes = volumes_of(series)
    if len(volumes) > 1:
        listed = "; ".join(map(_described, volumes))
        raise ScanError(
            f"the folder holds {len(volumes)} series or films: {listed}. Say which one is meant: "
            "FOLDER#<SeriesInstanceUID>, or the file itself"
        )
    kept = {file.path for file in volumes[0]}
    others = [file for files in series.values() for file in files if file.path not in kept]
    kinds = tally(file.origin.kind for file in others)
    said = f"files of other series are left out: {len(others)}{kinds}"
    return volumes[0], (said,) if others else ()


def _described(files: list[Slice]) -> str:
    """What tells a series from others: its description may name the patient, and so may its UID."""
    header, count = files[0].header, sum(file.frames for file in files)
    number = header.get("SeriesNumber")
    named = "" if number is None else f"series {number}, "
    return f"{named}{header.get('Modality') or 'modality unknown'}, slices: {count}"


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
    return unlike, (f"files that repeat a slice are left out: {copies}",) if copies else ()


def _is_copy(file: Slice, other: Slice) -> bool:
    same = all(
        str(file.header.get(name)) == str(other.header.get(name))
        for name in ("ImagePositionPatient", "InstanceNumber")
    )
    return same and filecmp.cmp(file.path, other.path, shallow=False)


def _require_alike(files: Sequence[Slice]) -> None:
    names = ("Rows", "Columns", "SamplesPerPixel")
    sizes = [times(tuple(file.header.get(name) or 1 for name in names)) for file in files]
    counts = Counter(sizes).most_common()
    if len(counts) > 1:
        listed = ", ".join(f"{count} of {size}" for size, count in counts)
        odd = [f.path.name for f, size in zip(files, sizes, strict=True) if size != counts[0][0]]
        raise ScanError(
            f"its slices are of different sizes in one series: {listed} (rows x columns x "
            f"channels). Put the localizer, or whatever is no slice of the volume, elsewhere: "
            f"{some(odd)}"
        )


def _all_placed(files: Sequence[Slice], planes: Sequence[Plane | None]) -> list[Plane]:
    placed = [plane for plane in planes if plane is not None]
    if len(placed) < len(planes):
        bare = [one.path.name for one, plane in zip(files, planes, strict=True) if plane is None]
        raise ScanError(
            f"{len(bare)} of its {len(planes)} slices do not say where they lie "
            f"(ImagePositionPatient, ImageOrientationPatient): {some(bare)}. If they are "
            "pictures of their own, name each file"
        )
    return placed


def _frames_of_all(files: Sequence[Slice]) -> Frames:
    """All slices; mode, modality and window are those of the middle one."""
    slices: list[Frames] = []
    for number, file in enumerate(files, start=1):
        try:
            slices.append(frames_of(*open_dicom(file.path)))
        except ScanError as error:
            named = f"slice {number} of {len(files)} ({file.path.name})"
            raise ScanError(f"{named}: {error}") from error
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
        return replace(_scan(frames, values, placed.warnings), placed=True)
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
    said = tuple(dict.fromkeys((*frames.warnings, *warnings)))
    made = frames._replace(values=np.ascontiguousarray(values), warnings=said)
    return Scan(kind="dicom", spacing=spacing, affine=affine, **made._asdict())
