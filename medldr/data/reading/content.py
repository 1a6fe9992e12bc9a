"""What is known of a file without reading it, and its content as one number; folders likewise."""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

_BLOCK = 1 << 20


def state_of(path: Path) -> tuple[int, int]:
    """Bytes and time of the last change (ns) of a file; the like of a folder with its files.

    Returns:
        ``(-1, -1)`` where there is neither. Of a folder: in place of bytes a number that changes
        with the name, the bytes or the time of any file directly in it (a file put back from a
        copy is older than the latest one), and the latest time of any, or of the folder itself.
    """
    try:
        known = path.stat()
        if not stat.S_ISDIR(known.st_mode):
            return (known.st_size, known.st_mtime_ns) if stat.S_ISREG(known.st_mode) else (-1, -1)
        files = [(file.name, file.stat()) for file in _files(path)]
    except OSError:
        return -1, -1
    latest = max([known.st_mtime_ns, *(one.st_mtime_ns for _, one in files)])
    digest = hashlib.sha256()
    for name, one in files:
        digest.update(os.fsencode(name) + f"\0{one.st_size} {one.st_mtime_ns}\0".encode())
    return int.from_bytes(digest.digest()[:7], "big"), latest


class Contents:
    """The content of items as one number each; a file that holds several is read once.

    Args:
        paths: ``(N,)`` files or folders.
        parts: ``(N,)`` what is meant of each; None where each is an item of its own.
    """

    def __init__(self, paths: Sequence[Path], parts: Sequence[str] | None) -> None:
        self._paths = paths
        self._parts = parts
        self._whole = functools.lru_cache(maxsize=64)(content_of) if parts else content_of

    def of(self, row: int) -> bytes:
        """sha256 of the item of a row.

        Raises:
            OSError: If it cannot be read.
        """
        part = "" if self._parts is None else self._parts[row]
        whole = self._whole(self._paths[row])
        return hashlib.sha256(whole + part.encode()).digest() if part else whole


def content_of(path: Path) -> bytes:
    """sha256 of a file's bytes; of a folder's, over name and sha256 of each file directly in it.

    Raises:
        OSError: If it cannot be read.
    """
    if not path.is_dir():
        return _sha256(path)
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(os.fsencode(file.name) + b"\0" + _sha256(Path(file.path)))
    return digest.digest()


def _files(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted((e for e in entries if e.is_file()), key=lambda entry: entry.name)


def _sha256(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.digest()
