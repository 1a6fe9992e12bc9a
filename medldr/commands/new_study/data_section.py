"""Where the scans of a study are and what is known of them: its table, or its tree of folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from medldr.commands.new_study.asking import LISTED, TOLD, Asker, Finding, Options, Role, remark
from medldr.commands.new_study.column_roles import guess_columns, rank, words
from medldr.commands.new_study.folder_levels import guess_tree, numbered_images, top_of_tree
from medldr.data.counting import some
from medldr.data.listing.folders import read_folder
from medldr.data.listing.kinds import ARCHIVE, EXCEL, TABLES, names_scan
from medldr.data.listing.places import find_places, near_root
from medldr.data.listing.tables import Sheet, read_sheet
from medldr.data.listing.trees import fault_of_levels
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.archive import IMAGES, parts_of, read_archive
from medldr.datasets.table import Config
from medldr.errors import InputError, did_you_mean_beside

_LOOKED_AT: Final = 20
_MASKS: Final = frozenset(
    {"mask", "seg", "segmentation", "contour", "annotation", "outline", "roi"}
)
"""Words of columns whose files say where something is, and are no images of the patient."""
_UNREAD: Final = (".xls", ".ods", ".numbers", ".sav", ".dta", ".sas7bdat", ".rds", ".rdata", ".mdb")
"""Tables of other programs."""
_FOLDERS: Final = "--folders LEVELS, such as --folders domain,label"


class FoundTable(NamedTuple):
    """A table whose rows are scans.

    Attributes:
        sheet: Its cells; those of an archive have a row per image.
        path: The column with the files; empty for an archive, which holds the images itself.
        root: The folder of the files.
        beside: Further columns whose cells are files.
        labels: The array of an archive that holds several labels; empty without.
        label_names: The columns that it became.
        split: The column with the splits that an archive's names of arrays tell; empty without.
    """

    sheet: Sheet
    path: str
    root: Path
    beside: tuple[str, ...] = ()
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
        foreign = "\\" in place.name  # which is a whole path where / parts folders
        hint = " Folders are parted by /, not by \\." if foreign else ""
        raise InputError(
            f"there is no {place}.{did_you_mean_beside(place)}{hint} Name the folder of your "
            "scans, or their table"
        )
    if place.suffix in (".yaml", ".yml"):
        raise InputError(f"{place} is no table. If it is a study already: `medldr sweep {place}`")
    if options.folders:
        fault = fault_of_levels(options.folders)
        if fault:
            raise InputError(f"--folders {fault}")
        if options.table is not None or not place.is_dir():
            raise InputError("--folders is for a folder without a table: leave out one of the two")
        root, folders = top_of_tree(place), Finding("folders", list(options.folders), TOLD)
        return [Finding("root", root, ""), folders, *numbered_images(root)]
    file = place if place.is_file() else None
    if file is None and options.table is not None:
        file = options.table.expanduser()
        file = file if file.exists() or file.is_absolute() else place / file
    if file is not None:
        return _of_table(_read_table(file, options.columns.get("path")), options, asker, [])
    candidates, others = _tables(place)
    if candidates:
        table, remarks = _which_table(place, candidates, asker)
        return _of_table(table, options, asker, [*_remarks(others), *remarks])
    if options.columns:
        wanted = ", ".join(f"--{role}" for role in options.columns)
        raise InputError(
            f"{wanted}: no table in {place} names its scans. {' '.join(_remarks(others))} Say "
            "which one with --table FILE"
        )
    above = _table_above(place, asker)
    if above is not None:
        return _of_table(above, options, asker, [])
    if others:
        why = "; ".join(f"{name}: {fault}" for name, fault in list(others.items())[:LISTED])
        question = (
            f"{place} holds no table that lists its scans ({why}). Do folders say what they are?"
        )
        asker.confirm(question, flag=_FOLDERS)
    return [*map(remark, _remarks(others)), *guess_tree(place, asker)]


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
        paths = _paths(table, options, asker)
        taken += table.beside
        keys += paths
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


def _paths(table: FoundTable, options: Options, asker: Asker) -> list[Finding]:
    """The column of the files, or the columns where an item has several images."""
    masks = [name for name in table.beside if not _MASKS.isdisjoint(words(name))]
    images = [table.path, *(name for name in table.beside if name not in masks)]
    remarks = [
        remark(
            f"The column {name!r} holds files, too, which are masks by its name: data.crop cuts "
            "images around one."
        )
        for name in masks
    ]
    if "path" in options.columns:
        given = options.columns["path"].split(",")
        return [Finding("path", given if len(given) > 1 else given[0], TOLD)]
    if len(images) == 1:
        return [Finding("path", table.path, "The column whose cells exist as files."), *remarks]
    question = f"The columns {some(images, LISTED)} name files: which are the images of one item"
    every = ",".join(images)
    answer = asker.choose(question, [every, *images], every, flag="--path COLUMN or --path A,B")
    chosen = answer.value.split(",")
    return [Finding("path", chosen if len(chosen) > 1 else chosen[0], answer.why), *remarks]


def _read_table(file: Path, path: str | None = None) -> FoundTable:
    """A table that is named.

    Args:
        file: A table or an archive.
        path: The column with the files, several separated by commas; None: those whose cells are
            files.

    Raises:
        InputError: If it cannot be read, or no column holds files that exist.
    """
    if file.suffix.lower() == ARCHIVE:
        return _archive(file)
    sheet = read_sheet(file)
    named_paths = path.split(",") if path else []
    for name in named_paths:
        sheet.require(name, "--path")
    columns, root = _files(sheet, file.parent, named_paths or sheet.names)
    if columns:
        return FoundTable(sheet, columns[0], root, tuple(columns[1:]))
    named = path or next((name for name in sheet.names if rank(name, "path") is not None), None)
    example = f", such as {sheet.column(named)[0]!r} of {named!r}" if named else ""
    raise InputError(
        f"{file}: no column holds files or folders that exist below {file.parent}{example}."
        " Paths are relative to the table's folder and end as the files do (.png, .nii.gz, ...). "
        f"Columns: {', '.join(sheet.names)}{''.join(f'. {note}' for note in sheet.notes)}"
    )


def _tables(folder: Path) -> tuple[list[FoundTable], dict[str, str]]:
    """The tables at the top of a folder whose rows name scans, and why each other one is none."""
    candidates: list[FoundTable] = []
    others: dict[str, str] = {}
    for name in read_folder(folder).files:
        lower = name.lower()
        if lower.endswith(_UNREAD):
            others[name] = "not read; save it as .csv"
        if not lower.endswith((*TABLES, ARCHIVE)):
            continue
        try:
            candidates.append(_read_table(folder / name))
        except InputError as error:
            # Text of another kind, or an archive that is a scan itself.
            workbook = lower.endswith(EXCEL)  # with merged cells, for example
            others[name] = str(error) if workbook else "no column holds files that exist"
    return candidates, others


def _remarks(others: Mapping[str, str]) -> list[str]:
    """Sentences on tables that say nothing of the scans."""
    return [f"{name} is not a table whose rows name scans ({why})." for name, why in others.items()]


def _which_table(
    folder: Path, candidates: Sequence[FoundTable], asker: Asker
) -> tuple[FoundTable, list[str]]:
    """The table that lists the scans, and sentences about the choice."""
    by_name = {one.sheet.path.name: one for one in candidates}
    if len(by_name) == 1:
        return candidates[0], []
    best = max(candidates, key=lambda one: len(one.sheet)).sheet.path.name
    question = f"Which of {len(by_name)} tables in {folder} lists the scans"
    answer = asker.choose(question, list(by_name), best, flag="--table NAME")
    counts = some((f"{n} with {len(one.sheet):,} rows" for n, one in by_name.items()), LISTED)
    return by_name[answer.value], [f"Tables found: {counts}. {answer.why}"]


def _table_above(folder: Path, asker: Asker) -> FoundTable | None:
    """The table beside a folder that lists the scans in it, if there is one and it is wanted."""
    for name in read_folder(folder.resolve().parent).files:
        file = folder.resolve().parent / name
        if not name.lower().endswith(TABLES):
            continue
        try:
            table = _read_table(file)
        except InputError:
            continue
        inside = folder.resolve()
        cells = _examples(table.sheet.column(table.path))
        if any((table.root / cell).resolve().is_relative_to(inside) for cell in cells):
            question = f"{file} lists scans in {folder}. Is the study of this table, or of folders"
            flag = f"`medldr new {file}`, or, without the table, {_FOLDERS}"
            answer = asker.choose(question, ["table", "folders"], "table", flag=flag)
            return table if answer.value == "table" else None
    return None


def _files(sheet: Sheet, root: Path, names: Sequence[str]) -> tuple[list[str], Path]:
    """The columns whose cells exist as files, the first one by its name, and their folder."""
    ordered = sorted(names, key=lambda name: rank(name, "path") is None)
    seen = {name: cells for name in ordered if (cells := _examples(sheet.column(name)))}
    places = (root, *(near_root(root, cells[0]) for cells in seen.values()))
    for place in dict.fromkeys(filter(None, places)):
        # At least half have to exist; the others are absent, which is said later.
        columns = [
            name
            for name, cells in seen.items()
            if 2 * len(find_places(cells, place).absent) <= len(cells)
        ]
        if columns:
            return columns, place
    return [], root


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
    return FoundTable(sheet, "", file.parent, (), label if several else "", several, split)


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
