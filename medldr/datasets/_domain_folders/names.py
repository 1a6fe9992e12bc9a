"""Names of domains and classes: which mean the same, and which are no domains at all.

Source:
    Names are compared in Unicode's composed form (NFC): a zip made on macOS holds ``Ö`` as two
    characters, which no reader sees. What differs only in capitals, blanks, ``-`` or ``_`` is one
    name mistyped; between two digits these count, for ``site_1_0`` is not ``site_10``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from medldr.errors import InputError

_SPLITS: Final = {
    *("train", "training", "trn", "val", "valid", "validation", "dev"),
    *("test", "testing", "tst"),
}
_MARKS: Final = re.compile(r"(?<!\d)[ _-]+|[ _-]+(?!\d)")


def composed(text: str) -> str:
    r"""A name in the form in which names are compared.

    Example:
        >>> composed("O\u0308dem") == "\u00d6dem"
        True
    """
    return unicodedata.normalize("NFC", text)


def spelled_plainly(name: str) -> str:
    """What remains of a name once capitals, blanks and marks are taken out.

    Example:
        >>> spelled_plainly("Site-A"), spelled_plainly("site_1_0"), spelled_plainly("T 1")
        ('sitea', 'site1_0', 't1')
    """
    return _MARKS.sub("", name.casefold())


def require_domains(folder: Path, names: Iterable[str]) -> None:
    """Refuse folders that are splits, or of which two are one domain spelled in two ways.

    Args:
        folder: The top of a tree of one's own.
        names: Of the folders in it.

    Raises:
        InputError: Saying what they look like, and the ways out.
    """
    domains = sorted(names)
    if domains and all(name.casefold() in _SPLITS for name in domains):
        raise InputError(
            f"{folder}: its folders {', '.join(domains)} are called like splits, not like domains. "
            "As domains they would be pooled and divided anew, so that training sees pictures of "
            "each. If they are splits, read the folder with data/table and "
            "data.folders=[split, label], which keeps them; if they are domains, rename them"
        )
    spelled: dict[str, str] = {}
    for name in domains:
        other = spelled.setdefault(spelled_plainly(name), name)
        if other != name:
            raise InputError(
                f"{folder}: {other} and {name} would be two domains, but differ only in spelling. "
                "Rename or merge the folders"
            )
