"""The keys of `data` that say where the scans are and what is known of them."""

from __future__ import annotations

from pathlib import Path

from medldr.commands.new_study.ask import TOLD, Asker
from medldr.commands.new_study.columns import guess_columns
from medldr.commands.new_study.finding import Finding, remark
from medldr.commands.new_study.options import Options
from medldr.commands.new_study.tables import FoundTable, find_table, read_table
from medldr.commands.new_study.tree import guess_tree
from medldr.commands.new_study.words import Role
from medldr.datasets._table.levels import check_levels
from medldr.errors import InputError


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
        check_levels(options.folders)
        if options.table is not None or not place.is_dir():
            raise InputError("--folders is for a folder without a table: leave out one of the two")
        return [Finding("root", place, ""), Finding("folders", list(options.folders), TOLD)]
    column = options.columns.get("path")
    if place.is_file():
        return _of_table(read_table(place, path=column), options, asker, [])
    if options.table is not None:
        file = options.table.expanduser()
        file = file if file.exists() or file.is_absolute() else place / file
        return _of_table(read_table(file, path=column), options, asker, [])
    table, said = find_table(place, asker)
    if table is not None:
        return _of_table(table, options, asker, said)
    if options.columns:
        wanted = ", ".join(f"--{role}" for role in options.columns)
        raise InputError(
            f"{wanted}: no table in {place} names its scans. {' '.join(said)} Say which one with "
            "--table FILE"
        )
    return [*map(remark, said), *guess_tree(place, asker)]


def _of_table(
    table: FoundTable, options: Options, asker: Asker, said: list[str]
) -> list[Finding]:  # fmt: skip
    sheet = table.sheet
    what = "images" if not table.path else "rows"
    why = f"{len(sheet):,} {what}, {len(sheet.names):,} columns: {', '.join(sheet.names)}."
    found = [Finding("file", table.file, " ".join([*said, why]))]
    if table.root != table.file.parent:
        found.append(Finding("root", table.root, "The files are found below this folder."))
    taken = [table.path or sheet.names[0]]
    if table.path:
        found.append(Finding("path", table.path, "The column whose cells exist as files."))
    given: dict[Role, str] = {
        role: name for role, name in options.columns.items() if role != "path"
    }
    if table.split:
        taken.append(table.split)
        found.append(remark("The names of the arrays say which images train and test."))
    label = None
    if table.labels and "label" not in given:
        taken += table.label_names
        why = f"An array of {len(table.label_names):,} labels for each image."
        label = Finding("label", table.labels, why)
    return [*found, *guess_columns(sheet, taken, given, asker, label=label)]


def place_of(findings: list[Finding]) -> Path:
    """The table, or the folder."""
    return next(Path(one.value) for one in findings if one.key in ("file", "root"))
