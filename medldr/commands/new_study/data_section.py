"""Where the scans of a study are and what is known of them: its table, or its tree of folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from medldr.commands.new_study.asking import LISTED, TOLD, Asker, Finding, Options, Role, remark
from medldr.commands.new_study.column_roles import guess_columns, rank, words
from medldr.commands.new_study.folder_levels import guess_tree, numbered_images, top_of_tree
from medldr.data.counting import some
from medldr.data.listing.excel import sheet_names
from medldr.data.listing.folders import read_folder
from medldr.data.listing.image_names import cases_in, names_of_images
from medldr.data.listing.kinds import ARCHIVE, EXCEL, TABLES, names_scan
from medldr.data.listing.places import find_places, near_root
from medldr.data.listing.tables import Sheet, read_sheet, sheet_of_book
from medldr.data.listing.trees import fault_of_levels
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.archive import IMAGES, parts_of, read_archive
from medldr.datasets.table import Config
from medldr.errors import InputError

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
        path: The column with the files, or with the names of cases whose files are numbered; empty
            for an archive, which holds the images itself.
        root: The folder of the files.
        beside: Further columns whose cells are files.
        labels: The array of an archive that holds several labels; empty without.
        label_names: The columns that it became.
        split: The column with the splits that an archive's names of arrays tell; empty without.
        cases: What the images of cases are called; empty where `path` holds files.
        title: The sheet of a workbook; empty for any other table.
        sheets: All sheets of the workbook, unless the user named one.
    """

    sheet: Sheet
    path: str
    root: Path
    beside: tuple[str, ...] = ()
    labels: str = ""
    label_names: tuple[str, ...] = ()
    split: str = ""
    cases: tuple[str, ...] = ()
    title: str = ""
    sheets: tuple[str, ...] = ()


def data_keys(options: Options, asker: Asker) -> list[Finding]:
    """Table or tree, and the keys that describe it.

    Args:
        options: What the user said.
        asker: Who decides what cannot be seen.

    Raises:
        InputError: If there is nothing that could be read; says what was found.
    """
    place, of_place = sheet_of_book(options.place)
    file, of_table = sheet_of_book((options.table or place).expanduser())
    options = replace(options, sheet=options.sheet or of_place or of_table)
    if options.folders:
        fault = fault_of_levels(options.folders)
        if fault:
            raise InputError(f"--folders {fault}")
        if options.table is not None or not place.is_dir():
            raise InputError("--folders is for a folder without a table: leave out one of the two")
        root, folders = top_of_tree(place), Finding("folders", list(options.folders), TOLD)
        return [Finding("root", root, ""), folders, *numbered_images(root)]
    if place.is_file() or options.table is not None:
        if place.is_file():
            file = place
        elif not (file.exists() or file.is_absolute()):
            file = place / file
        table = _which_sheet(_read_tables(file, options), asker)
        return _of_table(table, options, asker, [])
    candidates, others = _tables(place, options)
    if candidates:
        sheets, remarks = _which_table(place, candidates, asker)
        table = _which_sheet(sheets, asker)
        return _of_table(table, options, asker, [*_remarks(others), *remarks])
    if options.columns:
        wanted = ", ".join(f"--{role}" for role in options.columns)
        raise InputError(
            f"{wanted}: no table in {place} names its scans. {' '.join(_remarks(others))} Say "
            "which one with --table FILE"
        )
    above = _table_above(place, options, asker)
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
    notes = [f"{note[:1].upper()}{note[1:]}." for note in sheet.notes]
    keys = [Finding("file", sheet.path, " ".join([*remarks, why, *notes]))]
    if table.title and len(table.sheets) != 1:
        keys.append(Finding("sheet", table.title, "The sheet that lists the scans."))
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
    if table.cases:
        several = len(table.cases) > 1
        why = (
            "The column's cells are the names of files without the number of an image, as nnU-Net "
            "writes it (_0000), and the ending."
        )
        names = "What the images are called, in the order of their numbers."
        return [Finding("case", table.path, why)] + [
            Finding("path", list(table.cases), names)
        ] * several
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
        whole = table.path in table.sheet.names
        why = "The column whose cells exist" if whole else "The columns whose cells, joined, exist"
        return [Finding("path", table.path, f"{why} as files."), *remarks]
    question = f"The columns {some(images, LISTED)} name files: which are the images of one item"
    every = ",".join(images)
    answer = asker.choose(question, [every, *images], every, flag="--path COLUMN or --path A,B")
    chosen = answer.value.split(",")
    return [Finding("path", chosen if len(chosen) > 1 else chosen[0], answer.why), *remarks]


def _read_tables(file: Path, options: Options) -> list[FoundTable]:
    """A table that is named; of a workbook, each sheet whose rows are scans.

    Raises:
        InputError: If it cannot be read, or no column holds files that exist: of the first sheet.
    """
    path = options.columns.get("path")
    if file.suffix.lower() == ARCHIVE:
        return [_archive(file)]
    if options.sheet is not None or not file.name.lower().endswith(EXCEL):
        return [_read_table(file, path, options.sheet)]
    found: list[FoundTable] = []
    faults: list[InputError] = []
    sheets = tuple(sheet_names(file))
    for title in sheets:
        try:
            found.append(_read_table(file, path, title)._replace(sheets=sheets))
        except InputError as error:  # a legend, for example
            faults.append(error)
    if not found:
        raise faults[0]
    return found


def _which_sheet(found: Sequence[FoundTable], asker: Asker) -> FoundTable:
    """The sheet that lists the scans: asked, unless it is the first and no other does."""
    titles = [one.title for one in found]
    if not found[0].sheets or titles == [found[0].sheets[0]]:
        return found[0]
    question = f"Which sheet of {found[0].sheet.path} lists the scans"
    answer = asker.choose(question, titles, titles[0], flag="--sheet NAME")
    return found[titles.index(answer.value)]


def _read_table(file: Path, path: str | None, title: str | None = None) -> FoundTable:
    """A table that is named.

    Args:
        file: A table.
        path: The column with the files, several separated by commas; None: those whose cells are
            files.
        title: The sheet of a workbook.

    Raises:
        InputError: If it cannot be read, or no column holds files that exist.
    """
    sheet = read_sheet(file, sheet=title)
    where = file if title is None else f"{file}, sheet {title!r}"
    named_paths = path.split(",") if path else []
    for name in named_paths:
        sheet.require(name, "--path")
    columns, root = _files(sheet, file.parent, named_paths or sheet.names)
    if not named_paths:
        columns = [one for own in columns for one in _images_below(sheet, own, root) or [own]]
    if columns:
        return FoundTable(sheet, columns[0], root, tuple(columns[1:]), title=title or "")
    cases = _cases(sheet, file.parent, named_paths or sheet.names)
    if cases is not None:
        return cases._replace(title=title or "")
    named = path or next((name for name in sheet.names if rank(name, "path") is not None), None)
    example = f", such as {sheet.column(named)[0]!r} of {named!r}" if named else ""
    raise InputError(
        f"{where}: no column holds files or folders that exist below {file.parent}{example}."
        " Paths are relative to the table's folder and end as the files do (.png, .nii.gz, ...). "
        f"Columns: {', '.join(sheet.names)}{''.join(f'. {note}' for note in sheet.notes)}"
    )


def _tables(folder: Path, options: Options) -> tuple[dict[str, list[FoundTable]], dict[str, str]]:
    """The tables at the top of a folder whose rows name scans, and why each other one is none."""
    candidates: dict[str, list[FoundTable]] = {}
    others: dict[str, str] = {}
    for name in read_folder(folder).files:
        lower = name.lower()
        if lower.endswith(_UNREAD):
            others[name] = "not read; save it as .csv"
        if not lower.endswith((*TABLES, ARCHIVE)):
            continue
        try:
            candidates[name] = _read_tables(folder / name, Options(folder, sheet=options.sheet))
        except InputError as error:
            # Text of another kind, or an archive that is a scan itself.
            workbook = lower.endswith(EXCEL)  # with merged cells, for example
            fault = str(error).removeprefix(str(folder / name)).lstrip(":, ")
            others[name] = fault if workbook else "no column holds files that exist"
    return candidates, others


def _remarks(others: Mapping[str, str]) -> list[str]:
    """Sentences on tables that say nothing of the scans."""
    return [f"{name} is not a table whose rows name scans ({why})." for name, why in others.items()]


def _which_table(
    folder: Path, candidates: Mapping[str, list[FoundTable]], asker: Asker
) -> tuple[list[FoundTable], list[str]]:
    """The table that lists the scans (of a workbook each sheet), and sentences on the choice."""
    if len(candidates) == 1:
        return next(iter(candidates.values())), []
    rows = {name: max(len(one.sheet) for one in found) for name, found in candidates.items()}
    question = f"Which of {len(rows)} tables in {folder} lists the scans"
    best = max(rows, key=rows.__getitem__)
    answer = asker.choose(question, list(rows), best, flag="--table NAME")
    counts = some((f"{name} with {count:,} rows" for name, count in rows.items()), LISTED)
    return candidates[answer.value], [f"Tables found: {counts}. {answer.why}"]


def _table_above(folder: Path, options: Options, asker: Asker) -> FoundTable | None:
    """The table beside a folder that lists the scans in it, if there is one and it is wanted."""
    for name in read_folder(folder.resolve().parent).files:
        file = folder.resolve().parent / name
        if not name.lower().endswith(TABLES):
            continue
        try:
            found = _read_tables(file, options)
        except InputError:
            continue
        inside, table = folder.resolve(), found[0]
        cells = _examples(table.sheet.column(table.path))
        if any((table.root / cell).resolve().is_relative_to(inside) for cell in cells):
            question = f"{file} lists scans in {folder}. Is the study of this table, or of folders"
            flag = f"`medldr new {file}`, or, without the table, {_FOLDERS}"
            answer = asker.choose(question, ["table", "folders"], "table", flag=flag)
            return _which_sheet(found, asker) if answer.value == "table" else None
    return None


def _cases(sheet: Sheet, root: Path, names: Sequence[str]) -> FoundTable | None:
    """A column with the names of cases whose files nnU-Net numbers, here or a folder below."""
    for place in (root, *(root / name for name in read_folder(root).folders)):
        known = cases_in(place)
        for name in names:
            cells = set(sheet.column(name)) - {""}
            numbers = [number for cell in cells & set(known) for number in known[cell]]
            if numbers and 2 * len(cells & set(known)) >= len(cells):
                images = names_of_images(place, 1 + max(numbers))
                return FoundTable(sheet, name, place, cases=tuple(images))
    return None


def _files(sheet: Sheet, root: Path, names: Sequence[str]) -> tuple[list[str], Path]:
    """The columns whose cells exist as files, the first one by its name, and their folder."""
    ordered = sorted(names, key=lambda name: rank(name, "path") is None)
    seen = {name: cells for name in ordered if (cells := _examples(sheet.column(name)))}
    places = (root, *(near_root(root, cells[0]) for cells in seen.values()))
    for place in dict.fromkeys(filter(None, places)):
        # At least half have to exist, and nearly all in another folder, for that may be of one
        # hospital alone; the others are absent, which is said later.
        most = 0.5 if place == root else 0.1
        columns = [name for name, cells in seen.items() if _absent(cells, place) <= most]
        if columns:
            return columns, place
    return _joined(sheet, root, list(seen)), root


def _joined(sheet: Sheet, root: Path, names: Sequence[str]) -> list[str]:
    """The columns of names without a folder and of their folder, as one path; none without."""
    for front in ("", *(f"{name}/" for name in read_folder(root).folders)):
        inside = set(read_folder(root / front).folders)
        folders = [name for name in sheet.names if set(sheet.column(name)) <= inside]
        for joined in (f"{front}{{{of}}}/{{{name}}}" for name in names for of in folders):
            if _absent(_spread(sheet.column(joined)), root) <= 0.1:
                return [joined]
    return []


def _images_below(sheet: Sheet, column: str, root: Path) -> list[str]:
    """Paths of the folders (t2, adc) that recur in a row's folder, if it holds no files itself."""
    sources = find_places(_spread(list(filter(None, sheet.column(column)))), root).sources
    inside = [read_folder(source.path) for source in sources if source is not None]
    if any(folder.files for folder in inside):
        return []
    counts = Counter(name for folder in inside for name in folder.folders)
    front = column if "{" in column else f"{{{column}}}"
    return sorted(f"{front}/{name}" for name, n in counts.items() if 2 * n > len(inside))


def _absent(cells: Sequence[str], root: Path) -> float:
    return len(find_places(cells, root).absent) / len(cells)


def _spread(cells: Sequence[str]) -> list[str]:
    """Some cells of the whole table: its first rows may be of one hospital, or every other one."""
    return Random(0).sample(cells, min(len(cells), _LOOKED_AT))


def _examples(cells: Sequence[str]) -> list[str]:
    """Some cells of a column that may hold paths; none where it hardly does.

    Names of domains may be those of folders, too; the folders of series differ row by row.
    """
    different = list(dict.fromkeys(cell for cell in cells if cell))
    if different and (all(map(names_scan, different)) or 10 * len(different) >= 9 * len(cells)):
        return _spread(different)
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
