"""Picture files, returned in one size, read on demand, and proved readable before training."""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.geometry import squashed
from medldr.data.files.memory import Examined, States, prove
from medldr.data.files.rgb import (
    OwnRules,
    as_image,
    decode,
    decode_own,
    examine_own,
    look_of,
    whole,
)
from medldr.data.files.rules import OWN_PICTURE, PICTURE
from medldr.data.files.scan import ScanError
from medldr.data.image_table import BadFile, FileImages, Look
from medldr.errors import InputError
from medldr.folders.files import last_changed

_VERSION: Final = 1
"""Raised whenever other pixels or other reasons are found, so that nothing remembered is used."""

_CURE = "Replace it with an intact copy, or remove it and set data.on_bad_file=skip"


class PictureFiles(FileImages):
    """Pictures below a folder, each ``(3, H, W)`` uint8, in the order of their paths.

    The files are listed once, folder by folder, when this is made; none is opened.

    Args:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths with forward slashes.
        size: ``(H, W)`` in pixels that each picture must have.
        resize: Squash pictures of another size to it instead of refusing them.
        own: How they are converted, as pictures of one's own; None: as published benchmarks are.
            See `medldr.data.files.rgb`.
        own_size: Whether training sees them at their own sizes; then ``size`` is that of the whole
            pictures, which everything else sees.

    Attributes:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths.
        sizes: ``(N,)`` bytes of each file; -1 where there is none.
        modified: ``(N,)`` time of the last change of its content in ns, which copies keep.
        changed: ``(N,)`` the same of the file itself.
        shape: ``(N, 3, H, W)``.
        stamp: sha256 over path, bytes and time of change of every file.
    """

    def __init__(
        self,
        folder: Path,
        paths: Sequence[str],
        size: tuple[int, int],
        *,
        resize: bool = False,
        own: OwnRules | None = None,
        own_size: bool = False,
    ) -> None:
        self.folder = Path(folder)
        self._resize = resize or own is not None
        self._own = own
        self.own_size = own_size
        # Bytes in one block: a list of texts would be copied page by page into forked workers.
        self._paths = np.array([os.fsencode(path) for path in paths], dtype=np.bytes_)
        self.shape = (len(paths), 3, *size)
        self.sizes, self.modified, self.changed = _listed(self.folder, paths)
        self.stamp = _digest(self.paths, self.sizes, self.modified)

    @property
    def paths(self) -> list[str]:
        """Relative path of each picture."""
        return [os.fsdecode(path) for path in self._paths.tolist()]

    @property
    def reading(self) -> dict[str, Any]:
        """How each becomes an image, as plain values; see `ImageTable.reading`."""
        if self._own is None:
            return {"kind": PICTURE}
        return {"kind": OWN_PICTURE, **self._own._asdict()}

    def path(self, row: int) -> Path:
        """Where the picture of a row is."""
        return self.folder / os.fsdecode(self._paths[row])

    def image(self, row: int) -> NDArray[np.uint8]:
        """Pixels of a row ``(3, H, W)``.

        Raises:
            InputError: If the file cannot be read, or has another size and may not be resized.
        """
        return self._decoded(row, self._size)

    def at_own_size(self, row: int) -> NDArray[np.uint8]:
        """Pixels of a row ``(3, h, w)`` at the size of its file."""
        return self._decoded(range(len(self))[row], None)

    def _decoded(self, row: int, size: tuple[int, int] | None) -> NDArray[np.uint8]:
        path = self.path(row)
        try:
            if self._own is not None:
                return decode_own(path, size, self._own)
            return decode(path, size, resize=self._resize)
        except ScanError as error:
            raise InputError(f"{path} cannot be used: {error}. {_CURE}") from error

    def digest(self) -> str:
        """sha256 over path and bytes of every file, in any order: equal wherever the data is."""
        order = np.argsort(self._paths, kind="stable")
        paths = self.paths
        return _digest([paths[n] for n in order.tolist()], self.sizes[order])

    def take(self, rows: NDArray[np.int64]) -> PictureFiles:
        """The pictures of some rows, with what is known of their files already."""
        part = copy.copy(self)
        part._paths = self._paths[rows]
        part.sizes, part.modified = self.sizes[rows], self.modified[rows]
        part.changed = self.changed[rows]
        part.shape = (len(rows), *self.shape[1:])
        # Whatever changes a file of the part changes the stamp of the whole.
        part.stamp = _digest([self.stamp], rows)
        return part

    def whole_at(self, size: tuple[int, int]) -> PictureFiles:
        """The same files, whole pictures squashed to another size."""
        other = copy.copy(self)
        other.shape = (len(self), 3, *size)
        return other

    def with_rules(self, own: OwnRules) -> PictureFiles:
        """The same files, converted by other rules."""
        other = copy.copy(self)
        other._own = own
        return other

    def examined(
        self,
        *,
        seen: Callable[[int, NDArray[np.uint8]], None] | None = None,
        title: str = "checking pictures",
    ) -> list[Examined]:
        """What is known of each file after reading all of it once, now or before; see `prove`.

        Args:
            seen: Called, in threads, with the row and the pixels ``(3, H, W)`` of each picture that
                is whole; with it, each one is really decoded now. Pictures that cannot be scaled
                before their tree's depth is known are not passed.
            title: What is being done, for those who watch.
        """

        def examine(row: int) -> Examined:
            path = self.path(row)
            try:
                if self._own is None:
                    pixels = whole(path, None if self._resize else self._size)
                    look = look_of(pixels)
                    examined = Examined("", look.digest.hex(), look.constant)
                    image = functools.partial(squashed, pixels, self._size)
                else:
                    scan, examined = examine_own(path, self._own)
                    image = functools.partial(as_image, scan, self._size, self._own.depth)
            except ScanError as error:
                return Examined(reason=str(error))
            if seen is not None:
                # Without a depth for the tree some cannot be shown yet.
                with contextlib.suppress(ScanError):
                    seen(row, image())
            return examined

        return prove(
            self.path,
            self.paths,
            self._rules(),
            examine,
            title,
            folder=self.folder,
            states=States(self.sizes, self.changed),
            fresh=seen is not None,
        )

    @property
    def _size(self) -> tuple[int, int]:
        return self.shape[2], self.shape[3]

    def _rules(self) -> str:
        """Whatever decides, besides a file, what is found in it."""
        if self._own is not None:
            how = f"own, on {self._own.ground}, {'upright' if self._own.exif else 'as stored'}"
        else:
            how = "published" + ("" if self._resize else " at {} x {}".format(*self._size))
        return f"pictures {_VERSION}, Pillow {version('Pillow')}, {how}"


def unusable(paths: Sequence[str], examined: Sequence[Examined]) -> tuple[BadFile, ...]:
    """Files that cannot be used, in row order."""
    pairs = zip(paths, examined, strict=True)
    return tuple(BadFile(path, one.reason) for path, one in pairs if one.reason)


def looks_of(ids: Sequence[str], examined: Sequence[Examined]) -> dict[str, Look]:
    """Looks by id, as `ImageTable` has them, of pictures that are whole."""
    pairs = zip(ids, examined, strict=True)
    return {item: one.look for item, one in pairs}


def _listed(folder: Path, paths: Sequence[str]) -> NDArray[np.int64]:
    """Bytes, and times of change (ns) of content and file, ``(3, N)``; -1 where there is none."""
    listed: dict[str, dict[str, tuple[int, int, int]]] = {}
    states = np.full((3, len(paths)), -1, dtype=np.int64)
    for row, path in enumerate(paths):
        parent, _, name = path.rpartition("/")
        if parent not in listed:
            listed[parent] = _entries(folder / parent)
        states[:, row] = listed[parent].get(name, -1)
    return states


def _entries(folder: Path) -> dict[str, tuple[int, int, int]]:
    states = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                # A link to a file counts as the file; one that leads nowhere as absent, and so
                # does what was taken away meanwhile.
                with contextlib.suppress(FileNotFoundError):
                    state = entry.stat()
                    if stat.S_ISREG(state.st_mode):
                        times = state.st_mtime_ns, last_changed(state)
                        states[entry.name] = (state.st_size, *times)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from error
    return states


def _digest(paths: Sequence[str], *numbers: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    digest.update("\0".join(paths).encode("utf-8", "surrogateescape"))
    for column in numbers:
        digest.update(b"\1" + np.ascontiguousarray(column, dtype="<i8").tobytes())
    return digest.hexdigest()
