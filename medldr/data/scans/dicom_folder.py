"""The series in a folder of DICOM files, and which of them is meant.

Source:
    Our choice: only files directly in the folder; a series of several slices goes before single
    pictures beside it (localizers, dose reports), and two such series are never guessed between.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, NamedTuple

from medldr.data.scans.dicom_open import open_dicom
from medldr.data.scans.dicom_planes import TAGS
from medldr.data.scans.scan import ScanError

_TAGS: Final = (
    "SOPClassUID",
    "SOPInstanceUID",
    "SeriesInstanceUID",
    "SeriesDescription",
    "Modality",
    "InstanceNumber",
    "NumberOfFrames",
    "SamplesPerPixel",
    "Rows",
    "Columns",
    *TAGS,
)


class Slice(NamedTuple):
    """A file of a series.

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


class Listing(NamedTuple):
    """What a folder holds.

    Attributes:
        series: Files with a picture, by SeriesInstanceUID.
        warnings: How many files are something else.
    """

    series: dict[str, list[Slice]]
    warnings: tuple[str, ...]


def list_folder(folder: Path) -> Listing:
    """Look at every file that is directly in a folder, save hidden ones and a DICOMDIR.

    Raises:
        ScanError: If none of them is a DICOM file with a picture.
    """
    series: dict[str, list[Slice]] = {}
    foreign = without = 0
    paths = sorted(p for p in folder.iterdir() if p.is_file() and not _passed_over(p.name))
    for path in paths:
        try:
            header, _ = open_dicom(path, _TAGS)
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
    said = []
    if foreign:
        said.append(f"{_files(foreign)} not readable DICOM and left out")
    if without:
        said.append(f"{_files(without)} without a picture and left out")
    return Listing(series, tuple(said))


def choose(series: dict[str, list[Slice]], uid: str | None) -> tuple[list[Slice], tuple[str, ...]]:
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


def _passed_over(name: str) -> bool:
    return name.startswith(".") or name.casefold() == "dicomdir"


def _files(count: int) -> str:
    return "1 file is" if count == 1 else f"{count} files are"
