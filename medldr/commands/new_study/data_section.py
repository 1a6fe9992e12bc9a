"""Where the scans of a study are and what is known of them: its table, or its tree of folders."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from medldr.commands.new_study.asking import TOLD, Asker, Finding, Options, Role, remark
from medldr.commands.new_study.column_roles import guess_columns, rank
from medldr.commands.new_study.folder_levels import guess_tree
from medldr.data.listing.folders import read_folder
from medldr.data.listing.kinds import ARCHIVE, TABLES, names_scan
from medldr.data.listing.places import find_places, near_root
from medldr.data.listing.tables import Sheet, read_sheet
from medldr.data.listing.trees import fault_of_levels
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.archive import IMAGES, parts_of, read_archive
from medldr.datasets.table import Config
from medldr.errors import InputError

_LOOKED_AT: Final = 20


class FoundTable(NamedTuple):
    """A table whose rows are scans.

    Attributes:
        sheet: Its cells; those of an archive have a row per image.
        path: The column with the files; empty for an archive, which holds the images itself.
        root: The folder of the files.
        labels: The array of an archive that holds several labels; empty without.
        label_names: The columns that it became.
        split: The column with the splits that an archive's names of arrays tell; empty without.
    """

    sheet: Sheet
    path: str
    root: Path
    labels: str = ""
    label_names: tuple[str, ...] = ()
    split: str = ""


def data_keys(options: Options, asker: Asker) -> list[Finding]:
    """Table or tree, and the keys that describe it.

    Args:
        options: What the user said.
        asker: Who decides what cannot be seen.

    Raises:
        InputError: If there is nothing that could be read; says what was found.
    """
    place = options.place.expanduser()
    if not place.exists():
        raise InputError(f"there is no {place}. Name the folder of your scans, or their table")
    if options.folders:
        fault = fault_of_levels(options.folders)
        if fault:
            raise InputError(f"--folders {fault}")
        if options.table is not None or not place.is_dir():
            raise InputError("--folders is for a folder without a table: leave out one of the two")
        return [Finding("root", place, ""), Finding("folders", list(options.folders), TOLD)]
    file = place if place.is_file() else None
    if file is None and options.table is not None:
        file = options.table.expanduser()
        file = file if file.exists() or file.is_absolute() else place / file
    if file is not None:
        return _of_table(_read_table(file, options.columns.get("path")), options, asker, [])
    table, remarks = _find_table(place, asker)
    if table is not None:
        return _of_table(table, options, asker, remarks)
    if options.columns:
        wanted = ", ".join(f"--{role}" for role in options.columns)
        raise InputError(
            f"{wanted}: no table in {place} names its scans. {' '.join(remarks)} Say which one "
            "with --table FILE"
        )
    return [*map(remark, remarks), *guess_tree(place, asker)]


def _of_table(
    table: FoundTable, options: Options, asker: Asker, remarks: list[str]
) -> list[Finding]:
    """The keys that describe a table."""
    sheet = table.sheet
    what = "images" if not table.path else "rows"
    why = f"{len(sheet):,} {what}, {len(sheet.names):,} columns: {', '.join(sheet.names)}."
    keys = [Finding("file", sheet.path, " ".join([*remarks, why]))]
    if table.root != sheet.path.parent:
        keys.append(Finding("root", table.root, "The files are found below this folder."))
    taken = [table.path or sheet.names[0]]
    if table.path:
        keys.append(Finding("path", table.path, "The column whose cells exist as files."))
    given: dict[Role, str] = {r: name for r, name in options.columns.items() if r != "path"}
    if table.split:
        taken.append(table.split)
        keys.append(remark("The names of the arrays say which images train and test."))
    label = None
    if table.labels and "label" not in given:
        taken += table.label_names
        why = f"An array of {len(table.label_names):,} labels for each image."
        label = Finding("label", table.labels, why)
    return [*keys, *guess_columns(sheet, taken, given, asker, label=label)]


def _read_table(file: Path, path: str | None = None) -> FoundTable:
    """A table that is named.

    Args:
        file: A table or an archive.
        path: The column with the files; None: the one whose cells are files.

    Raises:
        InputError: If it cannot be read, or no column holds files that exist.
    """
    if file.suffix.lower() == ARCHIVE:
        return _archive(file)
    sheet = read_sheet(file)
    if path is not None:
        sheet.require(path, "--path")
    column = _files(sheet, file.parent, (path,) if path else sheet.names)
    if column is not None:
        return FoundTable(sheet, *column)
    named = path or next((name for name in sheet.names if rank(name, "path") is not None), None)
    example = f", such as {sheet.column(named)[0]!r} of {named!r}" if named else ""
    raise InputError(
        f"{file}: no column holds files or folders that exist below {file.parent}{example}."
        " Paths are relative to the table's folder and end as the files do (.png, .nii.gz, ...). "
        f"Columns: {', '.join(sheet.names)}"
    )


def _find_table(folder: Path, asker: Asker) -> tuple[FoundTable | None, list[str]]:
    """The table at the top of a folder.

    Args:
        folder: The folder.
        asker: Who chooses where there are several.

    Returns:
        The table; None where there is none. Then sentences about the choice, and about tables that
        name no files.
    """
    candidates: list[FoundTable] = []
    remarks: list[str] = []
    for name in read_folder(folder).files:
        file = folder / name
        if not name.lower().endswith((*TABLES, ARCHIVE)):
            continue
        try:
            candidates.append(_read_table(file))
        except InputError:
            # Text of another kind, or an archive that is a scan itself: the folders tell then.
            remarks.append(f"{name} is not a table whose rows name scans.")
    if not candidates:
        return None, remarks
    by_name = {one.sheet.path.name: one for one in candidates}
    if len(by_name) == 1:
        return candidates[0], remarks
    best = max(candidates, key=lambda one: len(one.sheet)).sheet.path.name
    answer = asker.choose("Which table lists the scans", list(by_name), best)
    counts = ", ".join(f"{name} with {len(one.sheet):,} rows" for name, one in by_name.items())
    return by_name[answer.value], [*remarks, f"Tables found: {counts}. {answer.why}"]


def _files(sheet: Sheet, root: Path, names: Sequence[str]) -> tuple[str, Path] | None:
    """The column whose cells exist as files, and the folder in which they do."""
    ordered = sorted(names, key=lambda name: rank(name, "path") is None)
    seen = {name: cells for name in ordered if (cells := _examples(sheet.column(name)))}
    places: Iterator[tuple[str, Path | None]] = itertools.chain(
        ((name, root) for name in seen),
        ((name, near_root(root, cells[0])) for name, cells in seen.items()),
    )
    for name, place in places:
        # At least half have to exist; the others are absent, which is said later.
        if place and 2 * len(find_places(seen[name], place).absent) <= len(seen[name]):
            return name, place
    return None


def _examples(cells: Sequence[str]) -> list[str]:
    """Some cells of a column that may hold paths; none where it hardly does.

    Names of domains may be those of folders, too; the folders of series differ row by row.
    """
    different = list(dict.fromkeys(cell for cell in cells if cell))
    if all(map(names_scan, different)) or 10 * len(different) >= 9 * len(cells):
        return different[:_LOOKED_AT]
    return []


def _archive(file: Path) -> FoundTable:
    with NpzFile(file) as opened:
        shapes = {key: opened.header(key)[0] for key in opened.keys}
    names = _columns(shapes)
    label = min(names, key=lambda name: (_rank(name), names.index(name)), default=None)
    if label is None:
        raise InputError(f"{file} holds no value for each of its images")
    rest = tuple(name for name in names if name != label)
    sheet, config = read_archive(file, Config(label=label, columns=rest))
    several = () if isinstance(config.label, str) else config.label
    split = config.split or ""
    return FoundTable(sheet, "", file.parent, label if several else "", several, split)


def _rank(name: str) -> int:
    return {0: 0, 1: 1, None: 2}[rank(name, "label")]


def _columns(shapes: dict[str, tuple[int, ...]]) -> list[str]:
    """Names of arrays with a value for each image, without the split that they begin with."""
    parts = list(parts_of(shapes, IMAGES))
    names = [key.removeprefix(part) for part in parts[:1] for key in shapes if key.startswith(part)]
    return [
        name
        for name in names
        if name != IMAGES and all(_per_image(shapes, part, name) for part in parts)
    ]


def _per_image(shapes: dict[str, tuple[int, ...]], part: str, name: str) -> bool:
    """Whether an array of a split has one value per image, or several labels."""
    shape, images = shapes.get(part + name, ()), shapes[part + IMAGES]
    single = len(shape) == 1 or (len(shape) == 2 and (shape[1] == 1 or _rank(name) < 2))
    return single and shape[:1] == images[:1]
