"""A tree of folders whose levels mean domains, classes, groups or splits.

Source:
    Our choice of what is one item. A file that is readable by its ending, of an Analyze pair the
    header. Slices of DICOM (``.dcm``, ``.dicom``, ``.ima``, or no ending, as scanners export them)
    are one series where they are in a folder of their own: below the last level, or at it where
    that level is a group. In a class folder itself each is an item, as radiographs are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from medldr.data.counting import counted, some
from medldr.data.files.scan import Source
from medldr.data.listing.folders import describe_folder, walk
from medldr.data.listing.item_frame import Rows
from medldr.data.listing.kinds import (
    endings_of,
    is_added_by_system,
    is_scan,
    is_second_of_pair,
    is_slice,
    tell_not_read,
)
from medldr.data.listing.names import split_of
from medldr.data.listing.places import DEAD, Places
from medldr.errors import InputError, did_you_mean

MEANINGS: Final = ("domain", "label", "group", "split")
_LISTED: Final = 5


class Item(NamedTuple):
    """A file or a folder of slices.

    Attributes:
        path: Below the root, with forward slashes.
        names: Of the folders of the levels above it.
        dead: Whether it is a link that leads nowhere.
    """

    path: str
    names: tuple[str, ...]
    dead: bool = False


@dataclass(frozen=True)
class Tree:
    """What a tree holds; paths are those below its top.

    Attributes:
        items: In the order of their paths, folder by folder.
        folders: Names that lead to each folder of the last level.
        series: Folders that are one item each.
        deep: Items in folders below the last level.
        shallow: Scans above the last level, which are no items.
        unused: Files that are no scans by their names.
    """

    items: list[Item] = field(default_factory=list)
    folders: list[tuple[str, ...]] = field(default_factory=list)
    series: list[str] = field(default_factory=list)
    deep: list[str] = field(default_factory=list)
    shallow: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)


def list_tree(
    root: Path,
    levels: Sequence[str],
    *,
    endings: tuple[str, ...] | None = None,
    only: Collection[str] | None = None,
) -> Tree:
    """List every item of a tree; none is opened.

    Args:
        root: Its top.
        levels: What its folders mean, from the top.
        endings: What names of items end in; None: those of any scan, and series of slices.
        only: The folders at the top that belong to it; None: all.

    Raises:
        InputError: As `walk`.
    """
    tree = Tree()
    for folder in walk(root, only=only):
        below = len(folder.names) - len(levels)
        if below == 0:
            tree.folders.append(folder.names)
        files = folder.files
        slices: set[str] = set()
        if endings is None and (below > 0 or (below == 0 and levels[-1] == "group")):
            slices = set(filter(is_slice, files))
        if slices:
            path = "/".join(folder.names)
            tree.series.append(path)
            tree.items.append(Item(path, folder.names[: len(levels)]))
        for name, kind in files.items():
            path = folder.below_top(name)
            scan = is_scan(name, files) if endings is None else name.lower().endswith(endings)
            if scan and below < 0:
                tree.shallow.append(path)
            elif scan and not slices:
                tree.items.append(Item(path, folder.names[: len(levels)], kind == "dead"))
                if below > 0:
                    tree.deep.append(path)
            elif endings is not None or not (name in slices or _is_expected(name, files)):
                tree.unused.append(path)
    return tree


def _is_expected(name: str, files: Collection[str]) -> bool:
    """Whether it is no item, but nothing to tell of either."""
    own = name.lower().endswith((".yaml", ".yml", ".html"))  # a study, and the page of its check
    return own or is_second_of_pair(name, files) or is_added_by_system(name)


def read_tree(root: Path, levels: Sequence[str], *, nested: bool = False) -> Rows:
    """The items of a tree as rows.

    Args:
        root: Its top.
        levels: What its folders mean, from the top: ``domain``, ``label``, ``group``, ``split``.
        nested: Whether all files may be in folders below the last level.

    Raises:
        InputError: If items are above the last level or all below it, the names of splits stand
            where domains or classes should, there is no item, or a link leads to a folder above
            it; says what was expected and found.
    """
    if not root.is_dir():
        raise InputError(f"data.root: there is no folder {root}. Expected {layout(root, levels)}")
    tree = list_tree(root, levels)
    _check_layout(root, levels, tree)
    if len(tree.deep) == len(tree.items) and not nested:
        raise InputError(
            f"{root}: every file is in a folder below the last level of data.folders, such as "
            f"{tree.deep[0]}. Expected {layout(root, levels)}. Name the further level in "
            "data.folders (patients: group), find patients with data.group_pattern, or set "
            "data.root one level deeper"
        )
    paths = [item.path for item in tree.items]
    named = {name: [item.names[at] for item in tree.items] for at, name in enumerate(levels)}
    return Rows(
        where=f"data.root: {root}",
        root=root,
        texts=paths,
        places=Places(
            [None if item.dead else Source(root / item.path) for item in tree.items],
            paths,
            {row: DEAD for row, item in enumerate(tree.items) if item.dead},
            tuple(tree.unused),
        ),
        labels={"label": named.pop("label")},
        roles=named,
        notes=tuple(_notes(tree, levels)),
    )


def layout(root: Path | str, levels: Sequence[str]) -> str:
    """How a tree should look.

    Example:
        >>> layout("data", ("domain", "label"))
        'data/<domain>/<label>/<scan>'
    """
    return "/".join([str(root), *(f"<{level}>" for level in levels), "<scan>"])


def fault_of_levels(levels: Sequence[str]) -> str:
    """What is wrong with the words of `data.folders`; empty if nothing.

    Example:
        >>> fault_of_levels(["domain"]), fault_of_levels(["domain", "label"])
        ("has no level 'label', so no item has a class", '')
    """
    for level in levels:
        if level not in MEANINGS:
            return (
                f"{level!r} is no meaning of a level.{did_you_mean(level, MEANINGS)} "
                f"Allowed: {', '.join(MEANINGS)}"
            )
    if len(set(levels)) < len(levels):
        return f"names a level twice: {', '.join(levels)}"
    return "" if "label" in levels else "has no level 'label', so no item has a class"


def _check_layout(root: Path, levels: Sequence[str], tree: Tree) -> None:
    expected = f"Expected {layout(root, levels)}"
    if tree.shallow:
        where = tree.shallow[0].rpartition("/")[0] or root.name
        raise InputError(
            f"{root}: {counted(len(tree.shallow), 'scan is', 'scans are')} above the last level of "
            f"data.folders, such as {tree.shallow[0]}, directly in {where}. {expected}. "
            f"Found {describe_folder(root)}. Move them into folders, or correct data.folders"
        )
    if not tree.items:
        found = tell_not_read(tree.unused) or f"found {describe_folder(root)}"
        raise InputError(f"{root} holds no scans: {found}. {expected}")
    for place, level in enumerate(levels):
        names = sorted({item.names[place] for item in tree.items})
        others = [name for name in names if split_of(name) is None]
        if level == "split" and others:
            raise InputError(
                f"{root}: the folder {others[0]!r} should be a split (data.folders), such as "
                f"train, val or test.{did_you_mean(others[0], ('train', 'val', 'test'))} "
                f"{expected}. Found {', '.join(names)}"
            )
        if level in ("domain", "label") and len(names) > 1 and not others:
            better = ", ".join("split" if at == place else name for at, name in enumerate(levels))
            raise InputError(
                f"{root}: the folders {', '.join(names)} are called like splits, but stand for a "
                f"{level} in data.folders. Say what they are with data.folders=[{better}] (and "
                "'label' for the level of classes), or rename them"
            )


def _notes(tree: Tree, levels: Sequence[str]) -> Iterator[str]:
    if tree.series:
        count = counted(len(tree.series), "folder is", "folders are")
        yield f"{count} read as one DICOM series each"
    if tree.deep:
        count = counted(len(tree.deep), "file is", "files are")
        yield f"{count} in folders below the last level"
    filled = {item.names for item in tree.items}
    empty = ["/".join(names) for names in tree.folders if names not in filled]
    if empty:
        # Names of groups may identify patients.
        which = f": {some(empty, _LISTED)}" if "group" not in levels else ""
        count = counted(len(empty), "folder holds", "folders hold")
        yield f"{count} no scan, hence no class or domain{which}"
    if tree.unused:
        one, several = "file is not used: its name ends", "files are not used: their names end"
        yield f"{counted(len(tree.unused), one, several)} in {endings_of(tree.unused)}"
