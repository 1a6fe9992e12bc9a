"""What is in folders: one walk for trees of scans, and one look-up for the paths of a table.

Source:
    Our choice: links are followed, save to a folder above; hidden files are passed over. Rows
    follow the order of names, each folder before those below it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

from medldr.data.listing.kinds import is_hidden
from medldr.data.listing.names import composed
from medldr.errors import InputError

Kind = Literal["file", "folder", "dead"]
"""What a name in a folder stands for; ``dead`` is a link that leads nowhere."""

HEAT_PAGE: Final = "index.html"
"""The page in a folder of heat maps."""
_LISTED: Final = 8
_UP: Final = ("", ".", "..")


class Folder(NamedTuple):
    """A folder of a tree.

    Attributes:
        path: The folder.
        names: Of the folders that lead to it from the top of the tree, the top itself left out.
        files: What is in it, by name; without what is hidden.
        folders: Names of the folders in it; without hidden ones.
        fault: Why it cannot be listed, if so.
    """

    path: Path
    names: tuple[str, ...]
    files: dict[str, Kind]
    folders: list[str]
    fault: str = ""

    def below_top(self, name: str) -> str:
        """The path of a file of it below the top, with forward slashes."""
        return "/".join((*self.names, name))


def read_folder(path: Path, names: tuple[str, ...] = ()) -> Folder:
    """What is directly in a folder; nothing where there is no such folder.

    Raises:
        InputError: If it cannot be listed.
    """
    try:
        return _folder(path, names)
    except (FileNotFoundError, NotADirectoryError):
        return Folder(path, names, {}, [])
    except OSError as error:
        raise InputError(f"{path} cannot be listed: {error.strerror}") from error


def _folder(path: Path, names: tuple[str, ...]) -> Folder:
    kinds = _kinds(path)
    seen = sorted(name for name in kinds if not is_hidden(name))
    files = {name: kinds[name] for name in seen if kinds[name] != "folder"}
    return Folder(path, names, files, [name for name in seen if name not in files])


def walk(
    top: Path, *, only: Collection[str] | None = None, lenient: bool = False
) -> Iterator[Folder]:
    """Every folder of a tree, from the top down, by name.

    At the top folders are left out that medldr itself wrote: see `is_written`.

    Args:
        top: Where to start.
        only: The folders at the top to enter; None: all.
        lenient: Give folders that cannot be listed with their `Folder.fault`, and pass over links
            to folders above them, instead of raising.

    Raises:
        InputError: If a folder cannot be listed, a link leads to a folder above it, or the name of
            a file is not UTF-8.
    """
    waiting: list[tuple[Path, tuple[str, ...], tuple[str, ...]]] = [(top, (), ())]
    while waiting:
        path, names, above = waiting.pop()
        real = os.path.realpath(path)
        if real in above and lenient:
            continue
        if real in above:
            raise InputError(f"{path} is a link to a folder above it. Remove the link")
        try:
            folder = _folder(path, names)
        except OSError as error:
            if not lenient:
                raise InputError(f"{path} cannot be listed: {error.strerror}") from error
            fault = f"the folder cannot be listed ({error.strerror})"
            folder = Folder(path, names, {}, [], fault)
        if not lenient:
            _require_utf8(folder)
        below = folder.folders
        if not names:
            below = [name for name in below if not is_written(path / name)]
            below = [name for name in below if only is None or name in only]
        yield folder
        waiting += [(path / name, (*names, name), (*above, real)) for name in reversed(below)]


def _require_utf8(folder: Folder) -> None:
    for name in folder.files:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{folder.path}: the name of file {name!r} is not UTF-8. Rename it"
            ) from error


def is_written(folder: Path) -> bool:
    """Whether a folder holds packs or heat maps, which may lie beside the scans they are of."""
    return _holds_packs(folder) or holds_heat_maps(folder)


def holds_heat_maps(folder: Path) -> bool:
    """Whether a folder holds what `medldr predict --explain` wrote, and nothing else."""
    ours = re.compile(rf"\d{{4,}}\.(png|nii\.gz)|{re.escape(HEAT_PAGE)}")
    return (folder / HEAT_PAGE).is_file() and all(ours.fullmatch(name) for name in _kinds(folder))


def _holds_packs(folder: Path) -> bool:
    """Whether it is the folder where `medldr data pack` puts packs by default."""
    if folder.name != "packed":
        return False
    content = read_folder(folder)
    return not (content.files and not content.folders) and all(
        name.endswith((".partial", ".old")) or (folder / name / "pack.json").is_file()
        for name in content.folders
    )


def describe_folder(path: Path) -> str:
    """What is in a folder, in words, for messages."""
    folder = read_folder(path)
    names = [*(f"{name}/" for name in folder.folders), *folder.files]
    if not names:
        if path.is_dir():
            return f"nothing in {path}"
        return f"a file: {path}" if path.exists() else f"no such folder: {path}"
    more = ", ..." if len(names) > _LISTED else ""
    return f"in {path}: {', '.join(names[:_LISTED])}{more}"


class Finder:
    """Finds files by the names that users write; every folder is listed once.

    Names are compared once their letters are composed (Unicode NFC): macOS and some archives store
    them decomposed, which looks the same. They are never compared without regard to capital
    letters, not even where the file system does, because the same table has to work on every
    machine.

    Args:
        root: The folder to which paths are relative.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self._kinds: dict[str, dict[str, Kind] | None] = {}
        self._stored_names: dict[str, dict[str, str]] = {}
        self._folders: dict[str, str | None] = {root: root}

    def find(self, path: str) -> tuple[str, Kind] | None:
        """A file or folder as it is stored, and what it is; None where there is none.

        Args:
            path: Below `root` or absolute, with forward slashes, without doubled ones.
        """
        return self._find(path if os.path.isabs(path) else f"{self.root}/{path}")

    def _find(self, path: str) -> tuple[str, Kind] | None:
        parent, name = os.path.split(path)
        folder = self._folder(parent)
        if folder is None:
            return None
        whole = os.path.join(folder, name)
        kinds = self.kinds(folder)
        if name in _UP or kinds is None:
            if os.path.isdir(whole):
                return whole, "folder"
            return (whole, "file") if os.path.exists(whole) else None
        # Of two files whose names look the same, the one as written is meant.
        stored = name if name in kinds else self._stored_names[folder].get(composed(name))
        if stored is None:
            return None
        return os.path.join(folder, stored), kinds[stored]

    def _folder(self, path: str) -> str | None:
        if path not in self._folders:
            self._folders[path] = self._search(path)
        return self._folders[path]

    def _search(self, path: str) -> str | None:
        # Above the root nothing is listed: it may be large, forbidden, or mounted when asked for.
        if not path.startswith(f"{self.root}/") and os.path.isdir(path):
            return path
        if os.path.dirname(path) == path:
            return None
        match self._find(path):
            case (stored, "folder"):
                return stored
        return None

    def kinds(self, folder: str) -> dict[str, Kind] | None:
        """What is in a folder, by name; None where it may be entered but not listed.

        Raises:
            InputError: If it cannot be listed for another reason.
        """
        if folder not in self._kinds:
            try:
                kinds = _kinds(folder)
            except PermissionError:
                self._kinds[folder] = None
                return None
            except OSError as error:
                raise InputError(f"{folder} cannot be listed ({error.strerror})") from error
            self._kinds[folder] = kinds
            self._stored_names[folder] = {composed(name): name for name in kinds}
            for name in kinds:  # of two that look alike, users type the composed one
                if composed(name) == name:
                    self._stored_names[folder][name] = name
        return self._kinds[folder]


def _kinds(folder: str | Path) -> dict[str, Kind]:
    """Everything in a folder by its name.

    Raises:
        OSError: If it cannot be listed.
    """

    def kind(entry: os.DirEntry[str]) -> Kind:
        if os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir():
            return "folder"
        return "dead" if entry.is_symlink() and not os.path.exists(entry.path) else "file"

    with os.scandir(folder) as entries:
        return {entry.name: kind(entry) for entry in entries}
