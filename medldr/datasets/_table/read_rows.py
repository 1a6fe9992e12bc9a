"""The text of a data set, from a table, an archive or a tree of folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from medldr.data.files.scan import Source
from medldr.data.listing.image_names import images_of_cases, rows_of_cases
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.kinds import ARCHIVE, names_scan
from medldr.data.listing.names import tidied
from medldr.data.listing.places import Places, find_places, find_places_of_several
from medldr.data.listing.ruined_ids import ruined_ids
from medldr.data.listing.tables import Sheet, read_sheet
from medldr.data.listing.trees import read_tree
from medldr.data.metadata_columns import decimal_points
from medldr.datasets._table.archive import read_archive
from medldr.datasets._table.config import Config
from medldr.errors import InputError, did_you_mean, some

_LOOKED_AT: Final = 20
"""Cells of a column by which it is seen to hold paths."""


def read_rows(config: Config, sources: Callable[[int], list[Source | None]] | None = None) -> Rows:
    """Read the text of a data set; no scan is opened.

    Args:
        config: Its keys.
        sources: Where the item of each of so many rows is; unset: where its path says.

    Raises:
        InputError: If it cannot be read, or a column does not exist.
    """
    file, root = config.file, config.root
    if file is None and not config.folders:
        raise InputError(
            "data.file is not set: name the table of the scans (CSV, Excel, JSON lines, Parquet) "
            "or an npz archive; for folders without a table say in data.folders what their levels "
            "mean, such as [domain, label]"
        )
    if file is None:
        if root is None:
            raise InputError("data.root is not set: name the folder that data.folders describes")
        nested = config.group_pattern is not None
        rows = read_tree(root.expanduser(), config.folders, nested=nested)
        return rows_of_cases(rows, config.images) if config.images else rows
    if config.folders:
        raise InputError(
            f"data.file names the table {file}, and data.folders says that there is none. Remove "
            "one of them"
        )
    file = file.expanduser()
    if file.suffix.lower() == ARCHIVE:
        sheet, config = read_archive(file, config)
        rows = _of_sheet(sheet, config, file.parent)
        members: list[Source | None] = [Source(file, member) for member in rows.texts]
        return replace(rows, positions=[], places=Places(members, rows.texts, {}))
    sheet = read_sheet(file, "data.file", config.sheet, _filled(config).values())
    if sources is not None:
        rows = _of_sheet(sheet, config, file.parent)
        return replace(rows, places=Places(sources(len(rows)), rows.texts, {}))
    root = file.parent if root is None else root.expanduser()
    if not root.is_dir():
        raise InputError(
            f"data.root: there is no folder {root}. Name the one of the files of {file}"
        )
    rows = _of_sheet(sheet, config, root)
    masks = [text for name in rows.select for text in rows.columns[name] if text]
    if rows.images:
        return replace(rows, places=find_places_of_several(rows.images, root, masks))
    return replace(rows, places=find_places(rows.texts, root, masks))


def _of_sheet(sheet: Sheet, config: Config, root: Path) -> Rows:
    """The columns that a configuration names; their files are not yet looked for."""
    columns = {tidied(name): name for name in sheet.names}
    lacking: dict[str, str] = {}

    def cells(key: str, name: str) -> list[str]:
        if tidied(name) in columns:
            return sheet.column(columns[tidied(name)])
        absent = [part for part in sheet.joined(name) if part not in sheet.names]
        lacking.update((_absent(sheet, key, part), key) for part in absent)
        return [""] * len(sheet) if absent else sheet.column(name)

    names = (config.label,) if isinstance(config.label, str) else config.label
    if not names or len(set(names)) < len(names):
        raise InputError(
            f"data.label needs one column or several different ones, not {list(names)}"
        )
    further, commas = decimal_points(
        {
            **{name: cells("columns", name) for name in config.columns},
            **{name: cells("crop", name) for name in config.crop_columns},
        }
    )
    where = f"data.file: {sheet.path}"
    paths = (config.path,) if isinstance(config.path, str) else config.path
    keys = {key: getattr(config, key) for key in ("domain", "group", "split")}
    keys["id"] = config.id or config.case
    roles = {key: cells(key, name) for key, name in keys.items() if name is not None}
    labels = {name: cells("label", name) for name in names}
    if config.case is None:
        files = {name: cells("path", name) for name in paths}
    else:
        cases = cells("case", config.case)
        files = {} if "case" in lacking.values() else images_of_cases(cases, root, paths, where)
    if {"path", "case", "label", "crop"} & {*lacking.values()}:  # nothing else can be looked at
        raise InputError("\n".join(lacking))
    images = files if config.images else {}
    rows = Rows(
        where=where,
        root=root,
        texts=[next(filter(None, texts), "") for texts in zip(*files.values(), strict=True)],
        places=Places([], [], {}),
        labels=labels,
        multi_label=not isinstance(config.label, str),
        roles=roles,
        columns=further,
        select=config.crop_columns,
        images=images,
        positions=[sheet.at(row) for row in range(len(sheet))],
        notes=(*sheet.notes, *commas),
    )
    faults = list(lacking)
    faults += (
        f"the column {name!r} (data.path) is empty in all {len(rows):,} rows. Fill it in, or leave "
        "it out of data.path"
        for name, column in images.items()
        if not any(column)
    )
    for key, name in _filled(config).items():
        if key in lacking.values():
            continue
        column = rows.texts if key == "path" else cells(key, name)
        empty = [row for row, cell in enumerate(column) if not cell]
        if empty:
            cure = f"Fill it in, or unset data.{key}" if key in ("domain", "id") else "Fill it in"
            faults.append(
                f"the column {name!r} (data.{key}) is empty in {len(empty):,} of {len(rows):,} "
                f"rows: {rows.examples(empty)}. {cure}"
            )
    for key in ("id", "group"):
        if key in rows.roles:
            faults += ruined_ids(f"the column of data.{key}", rows.roles[key], sheet.at)
    return replace(rows, faults=tuple(faults))


def _filled(config: Config) -> dict[str, str]:
    """The columns that need a value in every row, by their keys; of several images any one."""
    path = config.path if isinstance(config.path, str) else " or ".join(config.images)
    keys = {"path": path, "case": config.case, "id": config.id, "domain": config.domain}
    if config.case is not None:
        del keys["path"]
    return {key: name for key, name in keys.items() if name is not None}


def _absent(sheet: Sheet, key: str, name: str) -> str:
    where = f"data.{key}: {sheet.path} has no column {name!r}."
    if len(sheet.names) == 1:
        return (
            f"{where} Only one column was found, {sheet.names[0]!r}: separate them by commas, "
            "semicolons or tabs"
        )
    hint = did_you_mean(name, sheet.names)
    holding = [other for other in sheet.names if _holds_paths(sheet.column(other))]
    if key == "path" and holding:
        hint = f" Files are named in {' or '.join(map(repr, holding))}: set data.path."
    return f"{where}{hint} Columns: {some(sheet.names)}"


def _holds_paths(cells: Sequence[str]) -> bool:
    seen = [cell for cell in cells if cell][:_LOOKED_AT]
    return bool(seen) and all(map(names_scan, seen))
