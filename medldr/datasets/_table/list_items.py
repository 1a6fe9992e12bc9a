"""The items of a table, an archive or a tree: checked, in one spelling, none of them opened."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from medldr.data.counting import counted, some, tally
from medldr.data.files.scan import Source
from medldr.data.image_table import BadFile
from medldr.data.listing.item_frame import Listing, Rows, texts
from medldr.data.listing.names import (
    SPLIT_WORDS,
    groups_by_pattern,
    join_groups,
    one_spelling,
    split_of,
    tidied,
)
from medldr.data.listing.places import find_places
from medldr.datasets._table.config import Config
from medldr.datasets._table.faults import NO_IMAGE, NO_LABEL, LeftOut, check_rows
from medldr.datasets._table.labels import Labels, many_labels, refuse_look_alikes, single_labels
from medldr.datasets._table.read_rows import read_rows
from medldr.errors import InputError

MISSING: Final = "missing"
"""The column that says which images of an item are missing where zeros stand in their place."""
_FAULTS: Final = 8
_FOLD: Final = re.compile(r"(folds?[-_ ]*)?\d+(\.0)?", re.IGNORECASE)


def list_items(
    config: Config, sources: Callable[[int], list[Source | None]] | None = None
) -> Listing:
    """Read and check all text of a data set; no scan is opened.

    Args:
        config: Its keys.
        sources: Where the item of each of so many rows is; unset: where its path says.

    Raises:
        InputError: If anything of it is missing, contradictory or unclear. Names file, line, key
            and cure; files, repeated rows and missing labels are all in one message.
    """
    rows = read_rows(config, sources)
    faults = _Faults()
    left_out = check_rows(rows, config)
    if left_out.faults:
        faults.append(InputError(left_out.faults))
    absent = rows.places.absent
    reasons = {
        **dict.fromkeys(left_out.incomplete, NO_IMAGE),
        **dict.fromkeys(left_out.unlabelled, NO_LABEL),
        **absent,
    }
    # Ids, by which a manifest knows them.
    skipped = tuple(BadFile(rows.names[row], why) for row, why in sorted(reasons.items()))
    notes = [*rows.notes, *_left_out(rows, left_out)]
    out = {*reasons, *left_out.repeated}
    rows = rows.take([row for row in range(len(rows)) if row not in out])
    if not len(rows):
        faults.tell()
        raise InputError(f"{rows.where}: no row has both a file and a label")
    nothing = [""] * len(rows)
    labels = Labels((), np.empty(0, np.int64), ())
    with faults:
        if rows.multi_label:
            labels = many_labels(rows, config.classes, config.uncertain)
        else:
            labels = single_labels(rows, config.classes)
    domains, of_domains = one_spelling(rows.roles.get("domain", nothing), "domain")
    with faults:
        refuse_look_alikes(rows, domains, "domain")
    groups: list[str] = nothing
    splits: list[str] = nothing
    of_groups: tuple[str, ...] = ()
    of_splits: list[str] = []
    with faults:
        groups, of_groups = _groups(rows, domains, config)
    with faults:
        splits, of_splits = _splits(rows, groups)
    with faults:
        _require_different_ids(rows)
    faults.tell()
    columns = {name: rows.columns[name] for name in config.columns if name not in rows.select}
    lacking = [" ".join(rows.missing(row)) or "none" for row in range(len(rows))]
    if set(lacking) - {"none"}:
        if MISSING in columns:
            raise InputError(
                f"data.columns: {MISSING!r} is the column in which data.on_missing=zeros notes "
                "missing images. Rename that of the table"
            )
        columns[MISSING] = lacking
    return Listing(
        root=rows.root,
        ids=texts(rows.names),
        sources=_parts(rows, config),
        class_names=labels.class_names,
        labels=labels.labels,
        domains=texts(domains),
        groups=texts(groups),
        splits=texts(splits),
        columns={name: texts(column) for name, column in columns.items()},
        notes=(*notes, *labels.notes, *of_domains, *of_groups, *of_splits),
        skipped=skipped,
        unused=rows.places.unused,
    )


class _Faults(list[InputError]):
    """What is wrong with several columns, told in one message."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if isinstance(error, InputError):
            self.append(error)
        return isinstance(error, InputError)

    def tell(self) -> None:
        """Raise all of them as one."""
        if self:
            raise InputError("\n".join(map(str, self))) from self[0]


def _left_out(rows: Rows, left_out: LeftOut) -> list[str]:
    """Notes on rows that are left out and files that are not used."""
    unused = len(rows.places.unused)
    lacking = {n: [r for r in left_out.incomplete if n in rows.missing(r)] for n in rows.images}
    roles = [rows.roles[role] for role in ("split", "domain") if role in rows.roles]
    which = "; ".join(
        f"no {name} in {len(of):,}{tally(' '.join(cells[row] for cells in roles) for row in of)}"
        for name, of in lacking.items()
        if of
    )
    counts = (
        (len(rows.places.absent), "without a file (data.on_bad_file=skip)"),
        (len(left_out.incomplete), f"without one of their images (data.on_missing=drop): {which}"),
        (len(left_out.unlabelled), "without a label (data.on_missing_label=skip)"),
        (len(left_out.repeated), "that repeat an earlier one"),
    )
    notes = [
        f"left out of {len(rows):,} rows: {count:,} {which}" for count, which in counts if count
    ]
    if unused and rows.positions:
        count = counted(unused, "file", "files")
        notes.append(f"{count} beside those of the table without a row")
    return notes


def _groups(
    rows: Rows, domains: Sequence[str], config: Config
) -> tuple[list[str], tuple[str, ...]]:
    """The group of each row, all empty where there are none; and notes."""
    names = rows.roles.get("group")
    if config.group_pattern is not None:
        at = list(map(rows.at, range(len(rows))))
        cure = "name the column of patients in data.group"
        names = groups_by_pattern(config.group_pattern, rows.places.paths, rows.where, at, cure)
    if names is None:
        return [""] * len(rows), ()
    joined, notes = join_groups(names)
    lacking = joined.count("")
    if lacking and any(joined):
        bare = [row for row, name in enumerate(joined) if not name]
        where = f" ({some(rows.positions[row] for row in bare)})" if rows.positions else ""
        notes += (
            f"{lacking:,} of {len(rows):,} rows have no group{where}: each counts as a group of "
            "its own",
        )
    if config.group_scope == "domain":
        pairs = zip(domains, joined, strict=True)
        joined = [f"{domain}/{name}" if name else "" for domain, name in pairs]
    return joined, notes


def _splits(rows: Rows, groups: Sequence[str]) -> tuple[list[str], list[str]]:
    """The split of each row, one of `SPLITS`, all empty where none is named; and a note.

    Raises:
        InputError: If some rows have no split, or words are unknown or numbers of folds; then
            groups in several splits are told too.
    """
    words = rows.roles.get("split", [])
    if not any(words):
        return [""] * len(rows), []
    meant = {word: split_of(word) for word in dict.fromkeys(words)}
    faults = []
    for word in sorted(word for word, split in meant.items() if split is None):
        these = [row for row, one in enumerate(words) if one == word]
        which = rows.examples(these)
        what = "is the number of a fold" if _FOLD.fullmatch(word) else "is no split"
        faults.append(
            f"{word!r} {what}: {which}"
            if word
            else f"{counted(len(these), 'row names', 'rows name')} no split: {which}"
        )
    if faults:
        faults += _divided(rows, groups, [meant[word] for word in words])
        more = [f"and {len(faults) - _FAULTS:,} more"] if len(faults) > _FAULTS else []
        listed = "\n  ".join([*faults[:_FAULTS], *more])
        raise InputError(
            f"{rows.where}: data.split names a column that does not say every row's split:\n"
            f"  {listed}\nWrite one of {', '.join(SPLIT_WORDS)} in each, let `medldr data split` "
            "make splits of folds, or leave data.split unset: medldr divides them"
        )
    others = [f"{w!r} {split}" for w, split in meant.items() if split != tidied(w).casefold()]
    note = f"words of data.split are read as splits: {some(sorted(others), _FAULTS)}"
    return [meant[word] or "" for word in words], [note] if others else []


def _divided(rows: Rows, groups: Sequence[str], splits: Sequence[str | None]) -> Iterator[str]:
    """Groups with rows in several splits, and where these are."""
    of_group: dict[str, dict[str, int]] = {}
    for row, (group, split) in enumerate(zip(groups, splits, strict=True)):
        if group and split:
            of_group.setdefault(group, {}).setdefault(split, row)
    for group, of_split in of_group.items():
        if len(of_split) > 1:
            where = ", ".join(f"{rows.at(row)} in {split}" for split, row in of_split.items())
            yield f"group {group!r} is in several splits: {where}"


def _require_different_ids(rows: Rows) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(rows.names):
        earlier = first.setdefault(name, row)
        if earlier != row and name:
            cure = "Ids have to differ"
            if "id" not in rows.roles:
                cure = "Several items of one file need ids: name a column of them in data.id"
            raise InputError(
                f"{rows.where}: {rows.at(earlier)} and {rows.at(row)} have the same id {name!r}. "
                f"{cure}"
            )


def _parts(rows: Rows, config: Config) -> tuple[Source, ...]:
    """Where each item is, with the mask or point around which it is cut.

    A mask that is absent is told with all that cannot be used.

    Raises:
        InputError: If a row names no mask or point, or one that is no number.
    """
    if config.crop is None:
        return rows.sources
    cells = {name: rows.columns[name] for name in rows.select}
    for name, column in cells.items():
        empty = [row for row, cell in enumerate(column) if not cell]
        if empty:
            raise InputError(
                f"data.crop: the column {name!r} is empty in {len(empty):,} of {len(rows):,} rows, "
                f"such as that of {rows.names[empty[0]]}. Fill it in, or take these rows out of "
                "the table"
            )
    if config.crop.mask is not None:
        (column,) = cells.values()
        files = find_places(column, rows.root).sources
        masks = [mask or Source(rows.root / text) for text, mask in zip(column, files, strict=True)]
        pairs = zip(rows.sources, masks, strict=True)
        return tuple(replace(source, mask=mask) for source, mask in pairs)
    points = [
        _point(rows, row, column) for row, column in enumerate(zip(*cells.values(), strict=True))
    ]
    return tuple(
        replace(source, point=point) for source, point in zip(rows.sources, points, strict=True)
    )


def _point(rows: Rows, row: int, cells: Sequence[str]) -> tuple[float, ...]:
    try:
        point = tuple(map(float, cells))
    except ValueError:
        point = (math.nan,)
    if not all(map(math.isfinite, point)):
        raise InputError(
            f"data.crop.point: {', '.join(cells)} of {rows.names[row]} are not all numbers"
        )
    return point
