"""Which files are the images of one item, by nnU-Net's names.

Source:
    nnU-Net (Isensee et al. 2021) numbers the images of a case with four digits from 0 at the end of
    their names: ``case_0000.nii.gz`` and ``case_0001.nii.gz``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from medldr.data.counting import counted, some
from medldr.data.files.scan import Source
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.kinds import names_scan
from medldr.data.listing.places import Places
from medldr.errors import InputError

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
    odd = [text for text in rows.texts if text not in known]
    if odd:
        told = ", ".join(f"_{number:04} is {name}" for number, name in enumerate(names))
        raise InputError(
            f"{rows.where}: {counted(len(odd), 'file is', 'files are')} not named as an image of "
            f"an item by data.path ({told}, before the ending): {some(odd, _LISTED)}"
        )
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
