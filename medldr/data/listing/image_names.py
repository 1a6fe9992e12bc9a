"""Which files are the images of one item, by nnU-Net's names.

Source:
    nnU-Net (Isensee et al. 2021) numbers the images of a case with four digits from 0 at the end of
    their names: ``case_0000.nii.gz`` and ``case_0001.nii.gz``. What they are is said in
    ``dataset.json`` beside their folder, as ``channel_names`` (``modality`` in its first version).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from medldr.data.counting import counted, some
from medldr.data.files.scan import Source
from medldr.data.listing.folders import read_folder
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.kinds import names_scan
from medldr.data.listing.places import Places
from medldr.errors import InputError
from medldr.folders.files import read_json

_LISTED: Final = 8
_NUMBERED: Final = re.compile(r"(?P<case>.*[^/\\])_(?P<number>\d{4})(?P<ending>(\.[A-Za-z]\w*)+)")


def cases_of(paths: Iterable[str]) -> dict[str, dict[int, str]]:
    """Paths of images by case and number; those that are not named in nnU-Net's way are left out.

    Example:
        >>> cases_of(["a/p1_0000.nii.gz", "a/p1_0001.nii.gz", "b/p1_0000.nii.gz", "p1.nii.gz"])
        {'a/p1': {0: 'a/p1_0000.nii.gz', 1: 'a/p1_0001.nii.gz'}, 'b/p1': {0: 'b/p1_0000.nii.gz'}}
    """
    cases: dict[str, dict[int, str]] = {}
    for path in paths:
        match = _NUMBERED.fullmatch(path)
        if match is not None and names_scan(path):
            cases.setdefault(match["case"], {})[int(match["number"])] = path
    return cases


def cases_in(root: Path, below: str = "") -> dict[str, dict[int, str]]:
    """The same for the files of a folder below a root: their paths below that root."""
    folder = root / below
    files = read_folder(folder).files if folder.is_dir() else ()
    return cases_of(str(PurePosixPath(below, name)) for name in files)


def names_of_images(folder: Path, count: int) -> list[str]:
    """What the images of cases are called: by the ``dataset.json`` of nnU-Net, or ``image_0`` ....

    Args:
        folder: Of the files; ``dataset.json`` is in it or in the one above.
        count: How many images a case has.
    """
    for place in (folder / "dataset.json", folder.absolute().parent / "dataset.json"):
        try:
            said = read_json(place)
            known = said.get("channel_names") or said["modality"]
            names = [str(known[str(number)]) for number in range(count)]
        except (InputError, LookupError, AttributeError, TypeError):
            continue  # absent, or of another program: it was not asked to say anything
        if all(names) and len(set(names)) == count:
            return names
    return [f"image_{number}" for number in range(count)]


def images_of_cases(
    cases: Sequence[str], root: Path, names: Sequence[str], where: str
) -> dict[str, list[str]]:
    """The files of cases that a table names, as columns of paths below a root.

    Args:
        cases: Such as ``case_001``, or ``imagesTr/case_001``, for ``case_001_0000.nii.gz``.
        root: The folder to which they are relative.
        names: What the images are called, in the order of their numbers.
        where: The table in words, for messages.

    Returns:
        By name of the image the path of each case; empty where a case has other images only. A case
        without any file has the name that its first one would have.

    Raises:
        InputError: If a case has an image of a number that is named nothing.
    """
    asked = [case.replace("\\", "/").removeprefix("./") for case in cases]
    folders = dict.fromkeys(case.rpartition("/")[0] for case in asked)
    known = {case: files for below in folders for case, files in cases_in(root, below).items()}
    found = [known.get(case, {}) for case in asked]
    odd = [path for files in found for n, path in files.items() if n >= len(names)]
    _refuse_others(where, odd, names)
    endings = Counter(path.partition("_0000")[2] for files in found for path in files.values())
    usual = next((ending for ending, _ in endings.most_common() if ending), ".nii.gz")
    return {
        name: [
            files.get(number, "") if files or number else f"{case}_0000{usual}"
            for case, files in zip(asked, found, strict=True)
        ]
        for number, name in enumerate(names)
    }


def _refuse_others(where: str, odd: Sequence[str], names: Sequence[str]) -> None:
    if odd:
        told = ", ".join(f"_{number:04} is {name}" for number, name in enumerate(names))
        raise InputError(
            f"{where}: {counted(len(odd), 'file is', 'files are')} not named as an image of an "
            f"item by data.path ({told}, before the ending): {some(odd, _LISTED)}"
        )


def rows_of_cases(rows: Rows, names: Sequence[str]) -> Rows:
    """Rows of files that are the images of items, as a row for each item.

    Args:
        rows: A row for each file.
        names: What the images are called, in the order of their numbers.

    Raises:
        InputError: If a file is not named so, or its number is that of no image.
    """
    cases = cases_of(rows.texts)
    known = {path for case in cases.values() for n, path in case.items() if n < len(names)}
    _refuse_others(rows.where, [text for text in rows.texts if text not in known], names)
    row_of = {text: row for row, text in enumerate(rows.texts)}
    images = {
        name: [case.get(number, "") for case in cases.values()] for number, name in enumerate(names)
    }
    taken = rows.take([row_of[case[min(case)]] for case in cases.values()])
    sources: list[Source | None] = []
    absent: dict[int, str] = {}
    for row, paths in enumerate(zip(*images.values(), strict=True)):
        found = [rows.places.sources[row_of[path]] if path else None for path in paths]
        lost = [path for path, one in zip(paths, found, strict=True) if path and one is None]
        if lost:
            absent[row] = f"{lost[0]}: {rows.places.absent[row_of[lost[0]]]}"
        sources.append(None if lost else Source.of_several(found))
    places = Places(sources, taken.places.paths, absent, rows.places.unused)
    return replace(taken, images=images, places=places)
