"""Which file of a folder is the table of its scans, and what is in it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from medldr.commands.new_study.ask import Asker
from medldr.commands.new_study.words import rank
from medldr.data.sheets import Sheet, read_sheet
from medldr.datasets._domain_folders.location import Listing
from medldr.datasets._medmnist.npz import NpzFile
from medldr.datasets._table.archive import IMAGES, read_archive
from medldr.datasets._table.columns import ENDINGS, Columns
from medldr.datasets._table.places import find_places, near_root
from medldr.datasets._table.split_words import split_of
from medldr.errors import InputError, did_you_mean

_TEXT: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
_ARCHIVE: Final = ".npz"
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

    @property
    def file(self) -> Path:
        """The table's file."""
        return self.sheet.path


def read_table(file: Path, root: Path | None = None, path: str | None = None) -> FoundTable:
    """A table that is named.

    Args:
        file: A table or an archive.
        root: Folder of its files; None: that of the table, or one near it.
        path: The column with the files; None: the one whose cells are files.

    Raises:
        InputError: If it cannot be read, or no column holds files that exist.
    """
    if file.suffix.lower() == _ARCHIVE:
        return _archive(file)
    sheet = read_sheet(file)
    if path is not None and path not in sheet.names:
        raise InputError(
            f"--path: {file} has no column {path!r}.{did_you_mean(path, sheet.names)} Columns: "
            f"{', '.join(sheet.names)}"
        )
    found = _files(sheet, root or file.parent, (path,) if path else sheet.names)
    if found is not None:
        return FoundTable(sheet, *found)
    named = path or next((name for name in sheet.names if rank(name, "path") is not None), None)
    example = f", such as {sheet.column(named)[0]!r} of {named!r}" if named else ""
    raise InputError(
        f"{file}: no column holds files or folders that exist below {root or file.parent}{example}."
        " Paths are relative to the table's folder and end as the files do (.png, .nii.gz, ...). "
        f"Columns: {', '.join(sheet.names)}"
    )


def find_table(folder: Path, asker: Asker) -> tuple[FoundTable | None, list[str]]:
    """The table at the top of a folder.

    Args:
        folder: The folder.
        asker: Who chooses where there are several.

    Returns:
        The table; None where there is none. Then sentences about the choice, and about tables that
        name no files.
    """
    candidates: list[FoundTable] = []
    said: list[str] = []
    for name in Listing(folder).files:
        file = folder / name
        if not name.lower().endswith((*_TEXT, _ARCHIVE)):
            continue
        try:
            candidates.append(read_table(file))
        except InputError:
            # Text of another kind, or an archive that is a scan itself: the folders tell then.
            said.append(f"{name} is not a table whose rows name scans.")
    if not candidates:
        return None, said
    by_name = {one.file.name: one for one in candidates}
    if len(by_name) == 1:
        return candidates[0], said
    best = max(candidates, key=lambda one: len(one.sheet)).file.name
    answer = asker.choose("Which table lists the scans", list(by_name), best)
    counts = ", ".join(f"{name} with {len(one.sheet):,} rows" for name, one in by_name.items())
    return by_name[answer.value], [*said, f"Tables found: {counts}. {answer.why}"]


def _files(sheet: Sheet, root: Path, names: Sequence[str]) -> tuple[str, Path] | None:
    """The column whose cells exist as files, and the folder in which they do."""
    ordered = sorted(names, key=lambda name: rank(name, "path") is None)
    seen = {name: _examples(sheet.column(name)) for name in ordered}
    for name, cells in seen.items():
        if _most_exist(cells, root):
            return name, root
    for name, cells in seen.items():
        near = near_root(root, cells[0]) if cells else None
        if near is not None and _most_exist(cells, near):
            return name, near
    return None


def _most_exist(cells: Sequence[str], root: Path) -> bool:
    """Whether at least half of some paths do; the others are absent, which is said later."""
    return bool(cells) and 2 * len(find_places(cells, root).absent) <= len(cells)


def _examples(cells: Sequence[str]) -> list[str]:
    """Some cells of a column that may hold paths; none where it hardly does.

    Names of domains may be those of folders, too; the folders of series differ row by row.
    """
    different = list(dict.fromkeys(cell for cell in cells if cell))
    files = all(cell.partition("#")[0].lower().endswith(ENDINGS) for cell in different)
    if files or 10 * len(different) >= 9 * len(cells):
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
    sheet, columns = read_archive(file, Columns(label=label, columns=rest))
    several = columns.label if isinstance(columns.label, tuple) else ()
    return FoundTable(
        sheet, "", file.parent, label * bool(several), several, columns.split or ""
    )  # fmt: skip


def _rank(name: str) -> int:
    found = rank(name, "label")
    return 2 if found is None else found


def _columns(shapes: dict[str, tuple[int, ...]]) -> list[str]:
    """Names of arrays with a value for each image, without the split that they begin with."""
    parts = [
        key.removesuffix(IMAGES)
        for key in shapes
        if key.endswith(f"_{IMAGES}") and split_of(key.removesuffix(f"_{IMAGES}"))
    ] or ([""] if IMAGES in shapes else [])
    found: list[str] = []
    for key in shapes:
        if not parts or not key.startswith(parts[0]) or key == parts[0] + IMAGES:
            continue
        name = key.removeprefix(parts[0])
        if all(_per_image(shapes, part, name) for part in parts):
            found.append(name)
    return found


def _per_image(shapes: dict[str, tuple[int, ...]], part: str, name: str) -> bool:
    """Whether an array of a split has one value per image, or several labels."""
    shape, images = shapes.get(part + name, ()), shapes[part + IMAGES]
    single = len(shape) == 1 or (len(shape) == 2 and (shape[1] == 1 or _rank(name) < 2))
    return single and shape[:1] == images[:1]
