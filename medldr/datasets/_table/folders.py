"""A tree of folders whose levels mean domains, classes, groups or splits.

Source:
    Our choice of what is one item. A file that is readable by its ending, of an Analyze pair the
    header. Slices of DICOM (``.dcm``, ``.dicom``, ``.ima``, or no ending, as scanners export them)
    are one series where they are in a folder of their own: below the last level, or at it where
    that level is a group. In a class folder itself each is an item, as radiographs are.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from medldr.data.counting import counted, some
from medldr.data.scans.source import DICOM
from medldr.datasets._domain_folders.location import MORE_PICTURES, PICTURES, Listing, holds_packs
from medldr.datasets._table.levels import check_levels, check_tree, layout
from medldr.errors import InputError

_FILES: Final = (
    *PICTURES,
    *MORE_PICTURES,
    *DICOM,
    ".nii",
    ".nii.gz",
    ".mgh",
    ".mgz",
    ".npy",
    ".hdr",
    ".hdr.gz",
)
_SECOND: Final = {".img": ".hdr", ".img.gz": ".hdr.gz"}
_SYSTEM: Final = ("thumbs.db", "desktop.ini")
_LISTED: Final = 5
_NO_SLICES: Final = ("dicomdir", "readme", "license", "copying", "changes", "version")


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


class Tree(NamedTuple):
    """What a tree holds.

    Attributes:
        root: Its top.
        items: In the order of their paths, folder by folder.
        unused: Files that are not items, as paths below `root`.
        notes: What readers should know; without names of files, which may identify patients.
    """

    root: Path
    items: list[Item]
    unused: tuple[str, ...]
    notes: tuple[str, ...]


class _Walk:
    def __init__(self, root: Path, levels: Sequence[str]) -> None:
        self.root = root
        self.levels = levels
        self.items: list[Item] = []
        self.series: list[str] = []
        self.unused: list[str] = []
        self.shallow: list[str] = []
        self.deep: list[str] = []
        self.empty: list[str] = []

    def enter(self, names: tuple[str, ...], above: tuple[str, ...]) -> None:
        """Read a folder, given the names that lead to it and the real paths of those above."""
        folder = self.root.joinpath(*names)
        real = os.path.realpath(folder)
        if real in above:
            raise InputError(f"{folder} is a link to a folder above it. Remove the link")
        depth = len(self.levels)
        listing = Listing(folder)
        before = len(self.items)
        files = dict.fromkeys(name for name in listing.files if name.lower() not in _SYSTEM)
        if len(names) < depth:
            for name in files:
                path = "/".join((*names, name))
                (self.shallow if is_item(name, files) else self.unused).append(path)
        else:
            self._read(names, files)
        for name in listing.folders:
            if names or not holds_packs(folder / name):
                self.enter((*names, name), (*above, real))
        if len(names) == depth and len(self.items) == before:
            self.empty.append("/".join(names))

    def _read(self, names: tuple[str, ...], files: Collection[str]) -> None:
        depth = len(self.levels)
        own = len(names) > depth or self.levels[-1] == "group"
        slices = [name for name in files if is_slice(name)] if own else []
        if slices:
            self.series.append("/".join(names))
            self.items.append(Item("/".join(names), names[:depth]))
        for name in files:
            path = "/".join((*names, name))
            if slices or not is_item(name, files):
                if name not in slices and not _is_second(name, files):
                    self.unused.append(path)
                continue
            whole = self.root / path
            self.items.append(Item(path, names[:depth], whole.is_symlink() and not whole.exists()))
            if len(names) > depth:
                self.deep.append(path)


def read_folders(root: Path, levels: Sequence[str], *, nested: bool = False) -> Tree:
    """List every item of a tree; none is opened.

    Hidden files and those that systems add are skipped, links are followed.

    Args:
        root: Its top.
        levels: What its folders mean, from the top: ``domain``, ``label``, ``group``, ``split``.
        nested: Whether all files may be in folders below the last level.

    Raises:
        InputError: If `levels` make no sense, items are above the last level or all below it, the
            names of splits stand where domains or classes should, there is no item, or a link
            leads to a folder above it; says what was expected and found.
    """
    check_levels(levels)
    root = root.expanduser()
    if not root.is_dir():
        raise InputError(f"data.root: there is no folder {root}. Expected {layout(root, levels)}")
    walk = _Walk(root, levels)
    walk.enter((), ())
    check_tree(root, levels, [item.names for item in walk.items], walk.shallow)
    if walk.deep and len(walk.deep) == len(walk.items) and not nested:
        raise InputError(
            f"{root}: every file is in a folder below the last level of data.folders, such as "
            f"{walk.deep[0]}. Expected {layout(root, levels)}. Name the further level in "
            "data.folders (patients: group), find patients with data.group_pattern, or set "
            "data.root one level deeper"
        )
    return Tree(root, walk.items, tuple(walk.unused), _notes(walk))


def _notes(walk: _Walk) -> tuple[str, ...]:
    notes = []
    if walk.series:
        count = counted(len(walk.series), "folder is", "folders are")
        notes.append(f"{count} read as one DICOM series each")
    if walk.deep:
        count = counted(len(walk.deep), "file is", "files are")
        notes.append(f"{count} in folders below the last level")
    if walk.empty:
        # Names of groups may identify patients.
        names = f": {some(walk.empty, _LISTED)}" if "group" not in walk.levels else ""
        count = counted(len(walk.empty), "folder holds", "folders hold")
        notes.append(f"{count} no scan, hence no class or domain{names}")
    if walk.unused:
        count = counted(len(walk.unused), "file is", "files are")
        notes.append(f"{count} not used because of names that are not those of scans")
    return tuple(notes)


def is_item(name: str, files: Collection[str]) -> bool:
    """Whether a file is a scan by its name, and not the second of a pair.

    Args:
        name: The file's.
        files: Names of all files of its folder.

    Example:
        >>> [is_item(n, ["a.hdr", "a.img"]) for n in ("a.hdr", "a.img", "b.img", "c.txt")]
        [True, False, True, False]
    """
    lower = name.lower()
    if lower.endswith(tuple(_SECOND)):
        return not _is_second(name, files)
    return lower.endswith(_FILES) or is_slice(name)


def is_slice(name: str) -> bool:
    """Whether a file is a slice of DICOM, by its name.

    Names without an ending count, also those that are UIDs, but not those of leaflets.

    Example:
        >>> [is_slice(n) for n in ("IM1", "1.2.840.17", "a.DCM", "DICOMDIR", "a.png")]
        [True, True, True, False, False]
    """
    lower = name.lower()
    ending = lower.rpartition(".")[2] if "." in lower else ""
    bare = not ending or ending.isdecimal()
    return lower.endswith(DICOM) or (bare and lower not in _NO_SLICES)


def _is_second(name: str, files: Collection[str]) -> bool:
    """Whether it is the voxels of a pair whose header is there."""
    for ending, first in _SECOND.items():
        if name.lower().endswith(ending):
            stem = name[: -len(ending)]
            return stem + first in files or stem + first.upper() in files
    return False
