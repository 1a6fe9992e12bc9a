"""Folders, each listed once: which files there are, by the name that a user writes.

Source:
    Our choice. Names are compared once their letters are composed (Unicode NFC): macOS and some
    archives store them decomposed, which looks the same. They are never compared without regard to
    capital letters, not even where the file system does, because the same table has to work on
    every machine.
"""

from __future__ import annotations

import os
from typing import Final, Literal, NamedTuple

from medldr.datasets._domain_folders.names import composed
from medldr.errors import InputError

Kind = Literal["file", "folder", "dead"]
_UP: Final = ("", ".", "..")


class Content(NamedTuple):
    """What is in a folder.

    Attributes:
        names: Each name as stored, by the name with composed letters.
        kinds: What each is, by its name as stored; ``dead`` is a link that leads nowhere.
    """

    names: dict[str, str]
    kinds: dict[str, Kind]


class Folders:
    """A folder and any that paths below or beside it lead to.

    Args:
        root: The folder to which paths are relative.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._contents: dict[str, Content | None] = {}
        self._stored: dict[str, str | None] = {root: root}

    def find(self, path: str) -> tuple[str, Kind] | None:
        """A file or folder as it is stored, and what it is; None where there is none.

        Args:
            path: Below `root` or absolute, with forward slashes, without doubled ones.
        """
        return self._find(path if os.path.isabs(path) else f"{self.root}/{path}")

    def _find(self, path: str) -> tuple[str, Kind] | None:
        above, name = os.path.split(path)
        folder = self._folder(above)
        if folder is None:
            return None
        whole = os.path.join(folder, name)
        content = self.content(folder)
        if name in _UP or content is None:
            return _look(whole)
        stored: str | None = name
        if name not in content.kinds:
            stored = content.names.get(composed(name))
        if stored is None:
            return None
        return os.path.join(folder, stored), content.kinds[stored]

    def _folder(self, path: str) -> str | None:
        if path not in self._stored:
            self._stored[path] = self._search(path)
        return self._stored[path]

    def _search(self, path: str) -> str | None:
        # Above the root nothing is listed: it may be large, forbidden, or mounted when asked for.
        if not path.startswith(f"{self.root}/") and os.path.isdir(path):
            return path
        if os.path.dirname(path) == path:
            return None
        found = self._find(path)
        return found[0] if found is not None and found[1] == "folder" else None

    def content(self, folder: str) -> Content | None:
        """What is in a folder; None where it may be entered but not listed."""
        if folder not in self._contents:
            self._contents[folder] = _list(folder)
        return self._contents[folder]


def _list(folder: str) -> Content | None:
    names: dict[str, str] = {}
    kinds: dict[str, Kind] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                kind: Kind = "folder" if entry.is_dir() else "file"
                if kind == "file" and entry.is_symlink() and not os.path.exists(entry.path):
                    kind = "dead"
                kinds[entry.name] = kind
                typed = composed(entry.name)
                # Of two files whose names look the same, the composed one is what users type.
                if typed not in names or entry.name == typed:
                    names[typed] = entry.name
    except PermissionError:
        return None
    except OSError as error:
        raise InputError(f"{folder} cannot be listed ({error.strerror})") from error
    return Content(names, kinds)


def _look(path: str) -> tuple[str, Kind] | None:
    if os.path.isdir(path):
        return path, "folder"
    return (path, "file") if os.path.exists(path) else None
