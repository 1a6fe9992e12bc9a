"""What keeps items from being used, all of it in one message before anything is read."""

from __future__ import annotations

import os
from typing import Final, NamedTuple

from medldr.data.counting import counted, some
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.places import ABSENT, foreign_front, near_name, near_root
from medldr.datasets._table.config import Config

NO_LABEL: Final = "it has no label"
NO_IMAGE: Final = "one of its images is missing"
_LISTED: Final = 6


class Contradiction(NamedTuple):
    """Two rows of one item that differ.

    Attributes:
        first: The earlier row.
        second: The later row.
        column: What they differ in.
    """

    first: int
    second: int
    column: str


class LeftOut(NamedTuple):
    """Rows that are left out.

    Attributes:
        unlabelled: Rows without a label.
        repeated: Rows that say the same as an earlier one of the same item.
        incomplete: Rows of which one of several images is missing.
        faults: What may not be left out, by kind, with lines and cures; empty if nothing.
    """

    unlabelled: list[int]
    repeated: list[int]
    incomplete: list[int]
    faults: str = ""


def check_rows(rows: Rows, config: Config) -> LeftOut:
    """Find rows that have no file or no label, lack what each needs, or contradict another."""
    repeated, contradictions = _repeats(rows)
    unlabelled: list[int] = []
    if not rows.multi_label:  # of several labels each may be missing by itself
        (texts,) = rows.labels.values()
        unlabelled = [row for row, text in enumerate(texts) if not text]
    incomplete = [row for row, text in enumerate(rows.texts) if text and rows.missing(row)]
    absent, unused = rows.places.absent, rows.places.unused
    faults = list(rows.faults)
    if absent and (config.on_bad_file != "skip" or len(absent) == len(rows)):
        faults.append(_absent(rows))
    told = not all(map(any, rows.images.values()))  # of a column without any image
    if incomplete and not told and (config.on_missing == "error" or len(incomplete) == len(rows)):
        faults.append(_incomplete(rows, incomplete))
    if contradictions:
        faults.append(_contradicting(rows, contradictions))
    if unlabelled and (config.on_missing_label != "skip" or len(unlabelled) == len(rows)):
        faults.append(
            f"{counted(len(unlabelled), 'row has', 'rows have')} no label: "
            f"{rows.examples(unlabelled)}. Fill it in, or leave such rows out with "
            "data.on_missing_label=skip"
        )
    if faults:
        if unused:
            without = counted(len(unused), "file has", "files have")
            faults.append(f"{without} no row: {some(unused, _LISTED)}")
        faults.insert(0, f"{rows.where} cannot be used as it is:")
        repeated += (one.second for one in contradictions)  # which need no second fault
    kept = [] if config.on_missing == "zeros" else incomplete
    return LeftOut(unlabelled, repeated, kept, "\n  ".join(faults))


def _repeats(rows: Rows) -> tuple[list[int], list[Contradiction]]:
    """Rows that repeat the first one of their item, and rows that contradict it.

    Two rows are of one item if their folder, whatever links lead there, name and part are equal,
    and so are the columns that select a part.
    """
    columns = _columns(rows)
    selecting = [rows.columns[name] for name in rows.select]
    real: dict[str, str] = {}
    first: dict[tuple[str, ...], int] = {}
    repeated: list[int] = []
    contradictions: list[Contradiction] = []
    for row, source in enumerate(rows.places.sources):
        if source is None:
            continue
        item = [cells[row] for cells in selecting]
        for image in source.images or (source,):
            folder, name = ("", "") if image is None else os.path.split(image.path)
            if folder not in real:
                real[folder] = os.path.realpath(folder)
            item += (real[folder], name, "" if image is None else image.part)
        earlier = first.setdefault(tuple(item), row)
        if earlier == row:
            continue
        differs = [name for name, cells in columns.items() if cells[row] != cells[earlier]]
        if differs:
            contradictions.append(Contradiction(earlier, row, differs[0]))
        else:
            repeated.append(row)
    return repeated, contradictions


def _columns(rows: Rows) -> dict[str, list[str]]:
    """Every column that says something of an item, by the name for it in messages."""
    return {**rows.labels, **rows.roles, **rows.columns}


def _absent(rows: Rows) -> str:
    absent = rows.places.absent
    lines = []
    for row in list(absent)[:_LISTED]:
        hint = near_name(rows.root, rows.texts[row]) if absent[row] == ABSENT else ""
        lines.append(f"{rows.at(row)}: {absent[row]}{hint}")
    cure = "Correct the paths, or leave these rows out with data.on_bad_file=skip"
    if len(absent) == len(rows):
        cure = f"Paths are relative to data.root, here {rows.root}"
        first = rows.texts[min(absent)]
        other, front = near_root(rows.root, first), foreign_front(rows.root, first)
        if other is not None:
            cure = f"They are found with data.root={other}"
        elif front is not None:
            cure += f"; take '{front}' away from the beginning of each, and they are found"
    what = counted(len(absent), "row has", "rows have")
    return _listed(f"{what} no file below {rows.root}:", lines, len(absent), cure)


def _incomplete(rows: Rows, incomplete: list[int]) -> str:
    lines = [
        f"{rows.at(row)}: no {', no '.join(rows.missing(row))}" for row in incomplete[:_LISTED]
    ]
    what = counted(len(incomplete), "row lacks", "rows lack")
    cure = "Fill them in, or set data.on_missing to drop or zeros"
    if len(incomplete) == len(rows):
        cure = "No item has all of them: leave a column out of data.path"
    return _listed(f"{what} an image:", lines, len(incomplete), cure)


def _contradicting(rows: Rows, contradictions: list[Contradiction]) -> str:
    columns = _columns(rows)
    lines = [
        f"{rows.at(first)} has {column} {columns[column][first]!r}, "
        f"{rows.at(second)} {columns[column][second]!r}"
        for first, second, column in contradictions[:_LISTED]
    ]
    count = len(contradictions)
    what = counted(count, "row contradicts another", "rows contradict others")
    return _listed(f"{what} of the same item:", lines, count, "Keep one row of each item")


def _listed(what: str, lines: list[str], count: int, cure: str) -> str:
    more = [f"and {count - _LISTED:,} more"] if count > _LISTED else []
    return "\n    ".join([what, *lines, *more, cure])
