"""Names that only look alike: of classes and domains, and of groups.

Source:
    Our choice. Two names that no reader can tell apart are one: those that are equal once letters
    are composed (Unicode NFC; macOS stores file names decomposed) and runs of blanks are one
    blank. Names that a reader can tell apart, but that are hardly meant to differ (``Tumor`` and
    ``tumor``), are refused, not joined: the classes of a study are for its authors to say. Groups
    are also joined across capital letters, as in the check that no group is in two splits. Digits
    are text everywhere: ``01`` is not ``1``, and ``1-2`` is not ``12``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from medldr.data.sheets import trim
from medldr.datasets._domain_folders.names import composed, spelled_plainly
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError

_MEANT: Final = re.compile(r"^-(?=\d)|-$")
"""Marks that carry meaning beside those between digits: a minus sign, and the minus of ``ER-``."""


def tidied(name: str) -> str:
    r"""A name with composed letters and single blanks.

    Example:
        >>> tidied("O\u0308dem  links ")
        'Ödem links'
    """
    return " ".join(trim(composed(name)).split())


def one_spelling(texts: Sequence[str], what: str) -> tuple[list[str], tuple[str, ...]]:
    """Names as they are meant, where some look the same.

    Args:
        texts: ``(N,)`` names; empty ones stay empty.
        what: What they name, ``class`` or ``domain``.

    Returns:
        The names, and a note for each that was written in several ways.
    """
    new = {text: tidied(text) for text in set(texts)}
    ways: dict[str, set[str]] = {}
    for text, name in new.items():
        ways.setdefault(name, set()).add(text)
    counts = Counter(texts)
    notes = []
    for name, spellings in sorted(ways.items()):
        if len(spellings) > 1:
            rare = sum(sorted(counts[text] for text in spellings)[:-1])
            notes.append(
                f"{what} {name!r} is written in {len(spellings)} ways that look the same "
                f"({', '.join(map(ascii, sorted(spellings)))}); they are one, and {rare:,} of "
                f"{sum(counts[text] for text in spellings):,} rows have the rarer ones"
            )
    return [new[text] for text in texts], tuple(notes)


def refuse_look_alikes(rows: Rows, names: Sequence[str], what: str) -> None:
    """Check that no two names differ only in capitals, blanks, ``-`` or ``_``.

    Args:
        rows: The items, for messages.
        names: ``(N,)`` a name of each; empty ones are skipped.
        what: What they name, ``class`` or ``domain``.

    Raises:
        InputError: If two do; names both and a row of each.
    """
    first: dict[str, int] = {}
    for row, name in enumerate(names):
        if name:
            first.setdefault(name, row)
    plain: dict[str, str] = {}
    for name in sorted(first):
        other = plain.setdefault(_plain(name), name)
        if other != name:
            both = "classes" if what == "class" else f"{what}s"
            raise InputError(
                f"{rows.where}: {other!r} in {rows.at(first[other])} and {name!r} in "
                f"{rows.at(first[name])} would be two {both}, but differ only in capital letters, "
                "blanks, '-' or '_'. Write them alike, or make them differ more"
            )


def _plain(name: str) -> str:
    return composed(spelled_plainly(_MEANT.sub("\0", name)))


def join_groups(texts: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Names of groups, each as it is first written.

    Args:
        texts: ``(N,)`` names; those that differ only in capitals, in blanks around them or in how
            their letters are stored are one group.

    Returns:
        The names, and a note that counts the groups written in several ways, without naming any.

    Example:
        >>> join_groups(["P23", "p23 ", "023", "23"])[0]
        ['P23', 'P23', '023', '23']
    """
    first: dict[str, str] = {}
    ways: dict[str, set[str]] = {}
    joined = []
    for text in texts:
        name = tidied(text)
        key = composed(name.casefold())
        joined.append(first.setdefault(key, name))
        ways.setdefault(key, set()).add(text)
    several = sum(len(spellings) > 1 for spellings in ways.values())
    if not several:
        return joined, ()
    groups = "1 group is" if several == 1 else f"{several:,} groups are"
    return joined, (
        f"{groups} written in several ways (capital letters, blanks); each counts as one",
    )
