"""The items of a table, an archive or a tree: checked, in one spelling, none of them opened."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from medldr.data.counting import counted, some
from medldr.data.files.scan import Source
from medldr.data.image_table import BadFile
from medldr.data.listing.item_frame import Listing, Rows, texts
from medldr.data.listing.names import (
    SPLIT_WORDS,
    groups_by_pattern,
    join_groups,
    one_spelling,
    split_of,
)
from medldr.data.listing.places import find_places
from medldr.datasets._table.config import Config
from medldr.datasets._table.faults import NO_LABEL, LeftOut, check_rows
from medldr.datasets._table.labels import many_labels, refuse_look_alikes, single_labels
from medldr.datasets._table.read_rows import read_rows
from medldr.errors import InputError

_FOLD: Final = re.compile(r"(folds?[-_ ]*)?\d+(\.0)?", re.IGNORECASE)


def list_items(config: Config) -> Listing:
    """Read and check all text of a data set; no scan is opened.

    Raises:
        InputError: If anything of it is missing, contradictory or unclear. Names file, line, key
            and cure; files, repeated rows and missing labels are all in one message.
    """
    rows = read_rows(config)
    left_out = check_rows(rows, config)
    absent = rows.places.absent
    reasons = {**dict.fromkeys(left_out.unlabelled, NO_LABEL), **absent}
    # Ids, by which a manifest knows them.
    skipped = tuple(BadFile(rows.names[row], why) for row, why in sorted(reasons.items()))
    notes = [*rows.notes, *_left_out(rows, left_out)]
    out = {*reasons, *left_out.repeated}
    rows = rows.take([row for row in range(len(rows)) if row not in out])
    if not len(rows):
        raise InputError(f"{rows.where}: no row has both a file and a label")
    if rows.multi_label:
        labels = many_labels(rows, config.classes, config.uncertain)
    else:
        labels = single_labels(rows, config.classes)
    domains, of_domains = one_spelling(rows.roles.get("domain", [""] * len(rows)), "domain")
    refuse_look_alikes(rows, domains, "domain")
    groups, of_groups = _groups(rows, domains, config)
    _require_different_ids(rows)
    return Listing(
        root=rows.root,
        ids=texts(rows.names),
        sources=_parts(rows, config),
        class_names=labels.class_names,
        labels=labels.labels,
        domains=texts(domains),
        groups=texts(groups),
        splits=texts(_splits(rows)),
        columns={
            name: texts(rows.columns[name])
            for name in config.columns
            if name not in config.crop_columns
        },
        notes=(*notes, *labels.notes, *of_domains, *of_groups),
        skipped=skipped,
        unused=rows.places.unused,
    )


def _left_out(rows: Rows, left_out: LeftOut) -> list[str]:
    """Notes on rows that are left out and files that are not used."""
    unused = len(rows.places.unused)
    counts = (
        (len(rows.places.absent), "without a file (data.on_bad_file=skip)"),
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
        notes += (
            f"{lacking:,} of {len(rows):,} rows have no group: each counts as a group of its own",
        )
    if config.group_scope == "domain":
        pairs = zip(domains, joined, strict=True)
        joined = [f"{domain}/{name}" if name else "" for domain, name in pairs]
    return joined, notes


def _splits(rows: Rows) -> list[str]:
    """The split of each row, one of `SPLITS`; all empty where none is named.

    Raises:
        InputError: If a word is unknown or the number of a fold, or some rows have no split.
    """
    words = rows.roles.get("split", [])
    if not any(words):
        return [""] * len(rows)
    empty = [row for row, word in enumerate(words) if not word]
    if empty:
        raise InputError(
            f"{rows.where}: {len(empty):,} of {len(rows):,} rows are in no split, the others are: "
            f"{rows.examples(empty)}. Give every row a split or none (data.split unset: medldr "
            "divides them)"
        )
    meant = {word: split_of(word) for word in set(words)}
    unknown = sorted(word for word, split in meant.items() if split is None)
    if unknown and all(map(_FOLD.fullmatch, unknown)):
        raise InputError(
            f"{rows.where}: data.split names a column of folds ({some(map(repr, unknown))}), "
            "which does not say what is for training and what for testing. Let "
            "`medldr data split` make splits of it, or write train, val and test"
        )
    if unknown:
        raise InputError(
            f"{rows.where}: {rows.at(words.index(unknown[0]))} is in the split {unknown[0]!r}, "
            f"which is none of {', '.join(SPLIT_WORDS)}. Unknown: {some(map(repr, unknown))}"
        )
    return [meant[word] or "" for word in words]


def _require_different_ids(rows: Rows) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(rows.names):
        earlier = first.setdefault(name, row)
        if earlier != row:
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
