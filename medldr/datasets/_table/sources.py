"""The rows of a data set and where their files are, from a table, an archive or a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from medldr.data.sheets import read_sheet
from medldr.datasets._table.archive import read_archive
from medldr.datasets._table.columns import Columns, pick
from medldr.datasets._table.folders import read_folders
from medldr.datasets._table.places import DEAD, Found, Place, find_places
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError

_ARCHIVE: Final = ".npz"


class Source(NamedTuple):
    """What a data set is made of.

    Attributes:
        rows: Its items, as text.
        root: The folder of its files.
        found: Where the items are.
    """

    rows: Rows
    root: Path
    found: Found


def read_source(
    file: Path | None, root: Path | None, columns: Columns, folders: Sequence[str], *, nested: bool
) -> Source:
    """Read the text of a data set.

    Args:
        file: A table or an npz archive; None for a tree.
        root: The folder of the files; None: that of the table.
        columns: Which column means what.
        folders: What the levels of a tree mean.
        nested: Whether all files of a tree may be below its last level.

    Raises:
        InputError: If it cannot be read, or it is not clear which of the three it is.
    """
    if file is None and not folders:
        raise InputError(
            "data.file is not set: name the table of the scans (CSV, JSON lines, Parquet) or an "
            "npz archive; for folders without a table say in data.folders what their levels mean, "
            "such as [domain, label]"
        )
    if file is not None and folders:
        raise InputError(
            f"data.file names the table {file}, and data.folders says that there is none. Remove "
            "one of them"
        )
    if file is None:
        if root is None:
            raise InputError("data.root is not set: name the folder that data.folders describes")
        return _tree(root.expanduser(), folders, nested=nested)
    file = file.expanduser()
    if file.suffix.lower() == _ARCHIVE:
        return _archive(file, columns)
    top = file.parent if root is None else root.expanduser()
    return _table(file, top, columns)


def _table(file: Path, root: Path, columns: Columns) -> Source:
    sheet = read_sheet(file, "data.file")
    if not root.is_dir():
        raise InputError(
            f"data.root: there is no folder {root}. Name the one of the files of {file}"
        )
    rows = pick(sheet, columns, f"data.file: {file}")
    others = [text for name in columns.select for text in rows.columns[name] if text]
    return Source(rows, root, find_places(rows.paths, root, others))


def _archive(file: Path, columns: Columns) -> Source:
    sheet, columns = read_archive(file, columns)
    rows = replace(pick(sheet, columns, f"data.file: {file}"), positions=[])
    places: list[Place | None] = [Place(file, path) for path in rows.paths]
    return Source(rows, file.parent, Found(places, rows.paths, {}, ()))


def _tree(root: Path, levels: Sequence[str], *, nested: bool) -> Source:
    tree = read_folders(root, levels, nested=nested)
    level = {name: [item.names[place] for item in tree.items] for place, name in enumerate(levels)}
    paths = [item.path for item in tree.items]
    rows = Rows(
        where=f"data.root: {root}",
        paths=paths,
        labels={"label": level["label"]},
        domains=level.get("domain"),
        groups=level.get("group"),
        splits=level.get("split"),
        notes=tree.notes,
    )
    places = [None if item.dead else Place(root / item.path) for item in tree.items]
    dead = {row: DEAD for row, item in enumerate(tree.items) if item.dead}
    return Source(rows, root, Found(places, paths, dead, tree.unused))
