"""All that the text of a data set says of its items, row by row, checked and in one spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import counted
from medldr.data.image_table import BadFile
from medldr.datasets._table.columns import Columns
from medldr.datasets._table.faults import Faults
from medldr.datasets._table.groups import Scope, read_groups
from medldr.datasets._table.labels import Labels, single_labels, unlabelled
from medldr.datasets._table.many_labels import Uncertain, many_labels
from medldr.datasets._table.names import one_spelling, refuse_look_alikes
from medldr.datasets._table.places import Place
from medldr.datasets._table.repeats import find_repeats
from medldr.datasets._table.rows import Rows, chosen
from medldr.datasets._table.sources import Source, read_source
from medldr.datasets._table.split_words import read_splits
from medldr.errors import InputError

__all__ = ["Columns", "Described", "Place", "describe"]

OnFault = Literal["error", "skip"]
NO_LABEL = "it has no label"


@dataclass(frozen=True)
class Described:
    """What is known of each item before any is opened.

    Attributes:
        ids: ``(N,)`` text, unique.
        places: ``(N,)`` where each is.
        class_names: One name per class or per label.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing one.
        multi_label: Which of the two.
        domains: ``(N,)`` text; all empty where there are none.
        groups: ``(N,)`` text; empty for an item without one.
        splits: ``(N,)`` text; one of `SPLITS`, or all empty.
        columns: Further columns ``(N,)`` of text by name; empty where a value is missing.
        notes: What readers should know; without names of files or of groups.
        skipped: Rows that are left out, and why.
        unused: Files beside those of the rows that no row refers to.
    """

    ids: NDArray[np.str_]
    places: tuple[Place, ...]
    class_names: tuple[str, ...]
    labels: NDArray[np.int64] | NDArray[np.float32]
    multi_label: bool
    domains: NDArray[np.str_]
    groups: NDArray[np.str_]
    splits: NDArray[np.str_]
    columns: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    skipped: tuple[BadFile, ...] = ()
    unused: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


def describe(
    file: Path | None,
    root: Path | None = None,
    columns: Columns | None = None,
    *,
    folders: Sequence[str] = (),
    classes: tuple[str, ...] | None = None,
    uncertain: Uncertain = "missing",
    on_missing_label: OnFault = "error",
    on_bad_file: OnFault = "error",
    group_pattern: str | None = None,
    group_scope: Scope = "all",
) -> Described:
    """Read and check all text of a data set; no scan is opened.

    Args:
        file: A table or an npz archive; None for a tree of folders.
        root: The folder of the files; None: that of the table.
        columns: Which column means what; unused for a tree.
        folders: What the levels of a tree mean, such as ``("domain", "label")``.
        classes: All classes in the order of their numbers; None: those that are found, sorted.
        uncertain: What -1 and ``u`` count as where there are several labels.
        on_missing_label: Whether rows without a label stop or are left out.
        on_bad_file: Whether rows without a file stop or are left out.
        group_pattern: A regular expression searched in the path; its first group is the group.
        group_scope: ``domain`` where equal names in two domains are two groups.

    Raises:
        InputError: If anything of it is missing, contradictory or unclear. Names file, line, key
            and cure; files, repeated rows and missing labels are all in one message.
    """
    nested = group_pattern is not None
    source = read_source(file, root, columns or Columns(), folders, nested=nested)
    rows, found = source.rows, source.found
    lacking = unlabelled(rows)
    repeats = find_repeats(rows, found.places)
    Faults(rows, source.root, found.absent, repeats.contradictions, lacking, found.unused).refuse(
        skip_absent=on_bad_file == "skip", skip_unlabelled=on_missing_label == "skip"
    )
    reasons = {**dict.fromkeys(lacking, NO_LABEL), **found.absent}
    out = {*reasons, *repeats.alike}
    kept = [row for row in range(len(rows)) if row not in out]
    if not kept:
        raise InputError(f"{rows.where}: no row has both a file and a label")
    notes = [*rows.notes, *_left_out(source, lacking, repeats.alike)]
    names = found.paths if rows.ids is None else rows.ids  # as ids, by which a manifest knows them
    skipped = tuple(BadFile(names[row], why) for row, why in sorted(reasons.items()))
    return _described(
        rows.take(kept),
        [place for row in kept if (place := found.places[row]) is not None],
        chosen(found.paths, kept),
        notes,
        classes=classes,
        uncertain=uncertain,
        pattern=group_pattern,
        scope=group_scope,
        skipped=skipped,
        unused=found.unused,
    )


def _described(
    rows: Rows,
    places: list[Place],
    paths: list[str],
    notes: list[str],
    *,
    classes: tuple[str, ...] | None,
    uncertain: Uncertain,
    pattern: str | None,
    scope: Scope,
    skipped: tuple[BadFile, ...],
    unused: tuple[str, ...],
) -> Described:
    """Make sense of the rows that are left."""
    labels: Labels
    if rows.multi_label:
        labels = many_labels(rows, classes, uncertain)
    else:
        labels = single_labels(rows, classes)
    domains, of_domains = one_spelling(rows.domains or [""] * len(rows), "domain")
    refuse_look_alikes(rows, domains, "domain")
    groups, of_groups = read_groups(rows, paths, domains, pattern, scope)
    return Described(
        ids=_array(_ids(rows, paths)),
        places=tuple(places),
        class_names=labels.class_names,
        labels=labels.labels,
        multi_label=labels.multi_label,
        domains=_array(domains),
        groups=_array(groups),
        splits=_array(read_splits(rows)),
        columns={name: _array(texts) for name, texts in rows.columns.items()},
        notes=(*notes, *labels.notes, *of_domains, *of_groups),
        skipped=skipped,
        unused=unused,
    )


def _array(texts: Sequence[str]) -> NDArray[np.str_]:
    return np.array(texts, dtype=np.str_)


def _ids(rows: Rows, paths: list[str]) -> list[str]:
    """The id of each row.

    Raises:
        InputError: If two rows have the same.
    """
    ids = paths if rows.ids is None else rows.ids
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        earlier = first.setdefault(name, row)
        if earlier != row:
            cure = "Ids have to differ"
            if rows.ids is None:
                cure = "Several items of one file need ids: name a column of them in data.id"
            raise InputError(
                f"{rows.where}: {rows.at(earlier)} and {rows.at(row)} have the same id {name!r}. "
                f"{cure}"
            )
    return list(ids)


def _left_out(source: Source, lacking: list[int], alike: list[int]) -> list[str]:
    """Notes on rows that are left out and files that are not used."""
    total, unused = len(source.rows), len(source.found.unused)
    said = (
        (len(source.found.absent), "without a file (data.on_bad_file=skip)"),
        (len(lacking), "without a label (data.on_missing_label=skip)"),
        (len(alike), "that repeat an earlier one"),
    )
    notes = [f"left out of {total:,} rows: {count:,} {which}" for count, which in said if count]
    if unused and source.rows.positions:
        count = counted(unused, "file", "files")
        notes.append(f"{count} beside those of the table without a row")
    return notes
