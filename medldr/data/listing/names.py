"""Names of classes, domains, groups and splits: which are one, and which only look alike.

Source:
    Our choice. Two names that no reader can tell apart are one: those that are equal once letters
    are composed (Unicode NFC; macOS stores file names decomposed) and runs of blanks are one
    blank. Names that a reader can tell apart, but that are hardly meant to differ (``Tumor`` and
    ``tumor``), are refused, not joined: the classes of a study are for its authors to say. Groups
    are also joined across capital letters, as in the check that no group is in two splits. Digits
    are text everywhere: ``01`` is not ``1``, and ``1-2`` is not ``12``.

    Words for splits are those of torchvision's and WILDS's folders and of common tables. Numbers of
    folds name no split: which of them is for testing is for the user to say. Nor does ``holdout``,
    which is a validation set to some and a test set to others.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from medldr.data.counting import some
from medldr.data.listing.tables import trim
from medldr.errors import InputError
from medldr.types import SPLITS

SPLIT_WORDS: Final = {
    **dict.fromkeys(("train", "training", "trn", "tr"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev", "tune"), "val"),
    **dict.fromkeys(("test", "testing", "tst", "ts"), "test"),
    **{split: split for split in SPLITS},
}
"""The split that each word means."""

_MARKS: Final = re.compile(r"(?<!\d)[ _-]+|[ _-]+(?!\d)")
_MEANT: Final = re.compile(r"^-(?=\d)|-$")
"""Marks that carry meaning beside those between digits: a minus sign, and the minus of ``ER-``."""
_UNSEEN: Final = re.compile("[\u00ad\u200b\u2060\ufeff\u200e\u200f\u202a-\u202e]")
_LISTED: Final = 5


def composed(text: str) -> str:
    r"""A name in the form in which names are compared.

    Example:
        >>> composed("O\u0308dem") == "\u00d6dem"
        True
    """
    return unicodedata.normalize("NFC", text)


def tidied(name: str) -> str:
    r"""A name with composed letters and single blanks, and without characters of no width.

    Those that join letters or keep them apart stay within a word: they change how it looks.

    Example:
        >>> tidied("O\u0308dem\u00a0 li\u200bnks ")
        'Ödem links'
    """
    return " ".join(trim(composed(_UNSEEN.sub("", name))).split())


def spelled_plainly(name: str) -> str:
    """What remains of a name once capitals, blanks, ``-`` and ``_`` are taken out.

    Between two digits these count, and so does a minus sign.

    Example:
        >>> spelled_plainly("Site-A"), spelled_plainly("site_1_0"), spelled_plainly("T 1")
        ('sitea', 'site1_0', 't1')
    """
    return composed(_MARKS.sub("", _MEANT.sub("\0", name).casefold()))


def look_alikes(names: Iterable[str]) -> tuple[str, str] | None:
    """The first two of some names that differ only in capitals, blanks, ``-`` or ``_``.

    Example:
        >>> look_alikes(["Site A", "b", "site_a"]), look_alikes(["ER-", "ER", "01", "1"])
        (('Site A', 'site_a'), None)
    """
    first: dict[str, str] = {}
    for name in sorted(set(names)):
        other = first.setdefault(spelled_plainly(name), name)
        if other != name:
            return other, name
    return None


def one_spelling(texts: Sequence[str], what: str) -> tuple[list[str], tuple[str, ...]]:
    """Names as they are meant, where some look the same.

    Args:
        texts: ``(N,)`` names; empty ones stay empty.
        what: What they name, ``class`` or ``domain``.

    Returns:
        The names, and a note for each that was written in several ways.
    """
    meant = {text: tidied(text) for text in set(texts)}
    spellings: dict[str, list[str]] = {}
    for text in sorted(meant):
        spellings.setdefault(meant[text], []).append(text)
    counts = Counter(texts)
    notes = []
    for name, ways in sorted(spellings.items()):
        if len(ways) > 1:
            total = sum(counts[text] for text in ways)
            rare = total - max(counts[text] for text in ways)
            notes.append(
                f"{what} {name!r} is written in {len(ways)} ways that look the same "
                f"({', '.join(map(ascii, ways))}); they are one, and {rare:,} of {total:,} rows "
                "have the rarer ones"
            )
    return [meant[text] for text in texts], tuple(notes)


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
    spellings: dict[str, set[str]] = {}
    joined = []
    for text in texts:
        name = tidied(text)
        key = composed(name.casefold())
        joined.append(first.setdefault(key, name))
        spellings.setdefault(key, set()).add(text)
    several = sum(len(ways) > 1 for ways in spellings.values())
    if not several:
        return joined, ()
    groups = "1 group is" if several == 1 else f"{several:,} groups are"
    return joined, (
        f"{groups} written in several ways (capital letters, blanks); each counts as one",
    )


def groups_by_pattern(
    pattern: str, searched: Sequence[str], where: str, at: Sequence[str], cure: str
) -> list[str]:
    """The group (patient) of each item, found by `data.group_pattern`.

    Args:
        pattern: A regular expression; its first group names the patient.
        searched: ``(N,)`` the part of each path in which it is searched.
        where: Key and name of what the items come from, for messages.
        at: ``(N,)`` where each is, in words.
        cure: What may be done instead of correcting the pattern.

    Raises:
        InputError: If it finds no group in some.
    """
    search = re.compile(pattern).search
    names = [match.group(1) or "" if (match := search(text)) else "" for text in searched]
    unnamed = [row for row, name in enumerate(names) if not name]
    if unnamed:
        raise InputError(
            f"{where}: data.group_pattern {pattern!r} finds no group in {len(unnamed):,} of "
            f"{len(names):,} paths: {some([at[row] for row in unnamed], _LISTED)}. Correct "
            f"the pattern, or {cure}"
        )
    return names


def _with_group(pattern: str) -> str:
    """A pattern, if it has a group.

    Raises:
        ValueError: If not, with the cure.
    """
    try:
        count = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a valid regular expression: {error}") from error
    if not count:
        raise ValueError(
            f"{pattern!r} has no group: put parentheses around the patient, as in '^(P[0-9]+)_'"
        )
    return pattern


def split_of(word: str) -> str | None:
    """The split that a word means; None where it means none.

    Example:
        >>> split_of("Validation"), split_of("ID-Test"), split_of("hospital_a")
        ('val', 'id_test', None)
    """
    plain = tidied(word).casefold()
    return SPLIT_WORDS.get(plain) or SPLIT_WORDS.get(re.sub("[- ]", "_", plain))


GroupPattern = Annotated[str, AfterValidator(_with_group)]
"""A key with a regular expression that finds the patient in a path."""

GroupScope = Annotated[
    Literal["all", "domain"],
    Field(
        description="where equal group names mean the same patient: everywhere, or within a domain"
    ),
]
"""A key of folders and tables of one's own."""


def as_domains_are_named(held_out: tuple[str, ...]) -> tuple[str, ...]:
    """Held-out domains in the form of their names, sorted: neither spelling nor order matters."""
    return tuple(sorted(set(map(composed, held_out))))
