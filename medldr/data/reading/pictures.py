"""Picture files, returned in one size, read on demand, and checked before any long computation.

Decoding is left to whoever needs the pixels. `PictureFiles.faults` finds files that are absent,
truncated or of another size from the first and last bytes of each file, or by decoding it.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import BadFile, LazyImages
from medldr.data.reading.picture import ABSENT, PictureError, decode, ends_fault, tree_fault, whole
from medldr.data.reading.threads import in_threads
from medldr.errors import InputError

_STEP = 256  # files of one piece of work of a thread

_CURE = "Replace it with an intact copy, or remove it and set data.on_bad_file=skip"


class PictureFiles(LazyImages):
    """Pictures below a folder, each ``(3, H, W)`` uint8, in the order of their paths.

    The files are listed once, folder by folder, when this is made; none is opened.

    Args:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths with forward slashes.
        size: ``(H, W)`` in pixels that each picture must have.
        resize: Squash pictures of another size to it instead of refusing them.

    Attributes:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths.
        sizes: ``(N,)`` bytes of each file; -1 where there is none.
        shape: ``(N, 3, H, W)``.
        stamp: sha256 over path, bytes and time of change of every file.
    """

    def __init__(
        self, folder: Path, paths: Sequence[str], size: tuple[int, int], *, resize: bool = False
    ) -> None:
        self.folder = Path(folder)
        self._resize = resize
        # Bytes in one block: a list of texts would be copied page by page into forked workers.
        self._paths = np.array([os.fsencode(path) for path in paths], dtype=np.bytes_)
        self.shape = (len(paths), 3, *size)
        self.sizes, changed = _listed(self.folder, paths)
        self.stamp = _digest(self.paths, self.sizes, changed)

    @property
    def paths(self) -> list[str]:
        """Relative path of each picture."""
        return [os.fsdecode(path) for path in self._paths.tolist()]

    def path(self, row: int) -> Path:
        """Where the picture of a row is."""
        return self.folder / os.fsdecode(self._paths[row])

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Pixels of one row ``(3, H, W)`` or of several ``(n, 3, H, W)``.

        Raises:
            InputError: If a file cannot be read, or has another size and may not be resized.
        """
        if isinstance(rows, int | np.integer):
            return self._read(int(rows))
        numbers = np.arange(len(self))[rows]
        found = np.empty((len(numbers), *self.shape[1:]), dtype=np.uint8)
        for place, row in enumerate(numbers.tolist()):
            found[place] = self._read(row)
        return found

    def _read(self, row: int) -> NDArray[np.uint8]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} pictures")
        path = self.path(row)
        try:
            return decode(path, (self.shape[2], self.shape[3]), resize=self._resize)
        except PictureError as error:
            raise InputError(f"{path} cannot be used: {error}. {_CURE}") from error

    def digest(self) -> str:
        """sha256 over path and bytes of every file, in any order: equal wherever the data is."""
        order = np.argsort(self._paths, kind="stable")
        paths = self.paths
        return _digest([paths[n] for n in order.tolist()], self.sizes[order])

    def take(self, rows: NDArray[np.int64]) -> PictureFiles:
        """The pictures of some rows, with what is known of their files already."""
        part = copy.copy(self)
        part._paths, part.sizes = self._paths[rows], self.sizes[rows]
        part.shape = (len(rows), *self.shape[1:])
        # Whatever changes a file of the part changes the stamp of the whole.
        part.stamp = _digest([self.stamp], rows)
        return part

    def faults(
        self,
        *,
        seen: Callable[[int, NDArray[np.uint8]], None] | None = None,
        title: str = "checking pictures",
    ) -> list[BadFile]:
        """Every file that is absent, truncated, unreadable or of another size, in row order.

        Args:
            seen: Called, in threads, with the row and the pixels ``(3, H, W)`` of each picture that
                is whole. Each one is really decoded for it, and its checksums are verified; unset,
                only its first and last bytes are read, where these suffice.
            title: What is being done, for those who watch.
        """
        size = (self.shape[2], self.shape[3])

        def of(row: int) -> str | None:
            if self.sizes[row] < 0:
                return ABSENT
            if seen is None:
                look = tree_fault if self._resize else ends_fault
                return look(self.path(row), size)
            pixels = whole(self.path(row), size, resize=self._resize)
            if isinstance(pixels, str):
                return pixels
            seen(row, pixels)
            return None

        def in_part(part: range) -> list[tuple[int, str]]:
            found = ((row, of(row)) for row in part)
            return [(row, reason) for row, reason in found if reason is not None]

        parts = in_threads(in_part, len(self), step=_STEP, title=title)
        return [
            BadFile(os.fsdecode(self._paths[row]), reason) for part in parts for row, reason in part
        ]


def _listed(folder: Path, paths: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bytes and time of change (ns) of each file; -1 where there is none."""
    known: dict[str, dict[str, tuple[int, int]]] = {}
    found = np.full((len(paths), 2), -1, dtype=np.int64)
    for row, path in enumerate(paths):
        parent, _, name = path.rpartition("/")
        if parent not in known:
            known[parent] = _entries(folder / parent)
        found[row] = known[parent].get(name, (-1, -1))
    return found[:, 0].copy(), found[:, 1].copy()


def _entries(folder: Path) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                # A link to a file counts as the file; one that leads nowhere as absent, and so
                # does what was taken away meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    known = entry.stat()
                    if stat.S_ISREG(known.st_mode):
                        found[entry.name] = (known.st_size, known.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from error
    return found


def _digest(paths: Sequence[str], *numbers: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    digest.update("\0".join(paths).encode("utf-8", "surrogateescape"))
    for column in numbers:
        digest.update(b"\1" + np.ascontiguousarray(column, dtype="<i8").tobytes())
    return digest.hexdigest()
