"""Which files or columns are the images of one item: by nnU-Net's names, or by a table's columns.

Source:
    nnU-Net (Isensee et al. 2021) numbers the images of a case with four digits from 0 at the end of
    their names: ``case_0000.nii.gz`` and ``case_0001.nii.gz``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from medldr.data.listing.kinds import names_scan
from medldr.data.listing.places import find_places
from medldr.data.listing.tables import Sheet

_NUMBERED: Final = re.compile(r"(?P<case>.*[^/\\])_(?P<number>\d{4})(?P<ending>(\.[A-Za-z]\w*)+)")
_LOOKED_AT: Final = 20


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


def image_columns(sheet: Sheet, root: Path) -> list[str]:
    """Columns of a table that name files of images which exist, in their order.

    More than one of them are several images of each item: ``data.path: [t2w, adc]``. Gaps are
    allowed, for an image may be missing; a column of masks is one of them by this rule.

    Args:
        sheet: The table.
        root: The folder to which paths are relative.
    """
    return [name for name in sheet.names if _names_images(sheet.column(name), root)]


def _names_images(cells: Sequence[str], root: Path) -> bool:
    texts = list(dict.fromkeys(cell for cell in cells if cell))[:_LOOKED_AT]
    named = bool(texts) and all(map(names_scan, texts))
    return named and 2 * len(find_places(texts, root).absent) <= len(texts)
