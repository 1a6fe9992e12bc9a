"""Picture files of one size, read when they are asked for, and looked at before anything long.

Decoding is left to the one who needs the pixels. `PictureFiles.faults` finds what is absent, cut
off or of another size from the first and last bytes of each file; `decode_all` reads every pixel.

Source:
    Pictures become RGB the way WILDS makes them, by Pillow's conversion: an alpha channel is
    dropped, not blended, and grey is repeated.
"""

from __future__ import annotations

import copy
import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medldr.data._threads import in_threads
from medldr.datasets.base import BadFile, LazyImages
from medldr.errors import InputError

_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"\x00\x00\x00\x00IEND\xaeB\x60\x82"
_STEP = 256  # files of one piece of work of a thread

_BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, Image.DecompressionBombError)
"""What Pillow answers broken files with."""

ABSENT = "there is no such file"


class PictureFiles(LazyImages):
    """Pictures below a folder, each ``(3, H, W)`` uint8, in the order of their paths.

    The files are listed once, folder by folder, when this is made; none is opened.

    Args:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths with forward slashes.
        size: ``(H, W)`` in pixels that each picture must have.

    Attributes:
        folder: Folder that the paths are relative to.
        paths: ``(N,)`` relative paths.
        sizes: ``(N,)`` bytes of each file; -1 where there is none.
        shape: ``(N, 3, H, W)``.
        stamp: sha256 over path, bytes and time of change of every file.
    """

    def __init__(self, folder: Path, paths: Sequence[str], size: tuple[int, int]) -> None:
        self.folder = Path(folder)
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
            InputError: If a file cannot be read or has another size; names it.
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
            return decode(path, (self.shape[2], self.shape[3]))
        except PictureError as error:
            raise InputError(f"{path} cannot be used: {error}. {_CURE}") from error

    def digest(self) -> str:
        """sha256 over path and bytes of every file, in any order: equal wherever the data lies."""
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

    def faults(self, *, decoded: bool = False, title: str = "") -> list[BadFile]:
        """Every file that is absent, cut off, unreadable or of another size, in row order.

        Args:
            decoded: Whether each picture is really decoded, and its checksums are verified, and
                not only its first and last bytes looked at.
            title: What the progress bar says, on a terminal.
        """
        size = (self.shape[2], self.shape[3])
        look = _decode_fault if decoded else _outer_fault

        def of(row: int) -> str | None:
            return ABSENT if self.sizes[row] < 0 else look(self.path(row), size)

        def in_part(part: range) -> list[tuple[int, str]]:
            found = ((row, of(row)) for row in part)
            return [(row, reason) for row, reason in found if reason is not None]

        parts = in_threads(in_part, len(self), step=_STEP, title=title or "looking at pictures")
        return [
            BadFile(os.fsdecode(self._paths[row]), reason) for part in parts for row, reason in part
        ]


_CURE = "Put a whole copy in its place, or remove it and set data.on_bad_file=skip"


class PictureError(Exception):
    """Why a picture cannot be used, without its name."""


def decode(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """One picture as RGB.

    Args:
        path: The file, of any kind that Pillow reads.
        size: ``(H, W)`` in pixels that it must have.

    Returns:
        ``(3, H, W)`` uint8.

    Raises:
        PictureError: If it cannot be decoded or has another size.
    """
    try:
        with Image.open(path) as picture:
            if picture.size != size[::-1]:
                raise PictureError(_wrong_size(picture.size[::-1], size))
            pixels = np.asarray(picture.convert("RGB"))
    except PictureError:
        raise
    except FileNotFoundError as error:
        raise PictureError(ABSENT) from error
    except _BROKEN as error:
        raise PictureError(_plain(error, path)) from error
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _plain(error: BaseException, path: Path) -> str:
    text = str(error).replace(f" {str(path)!r}", "").strip() or type(error).__name__
    return f"unreadable ({text})"


def _wrong_size(found: tuple[int, int], wanted: tuple[int, int]) -> str:
    return f"it has {found[0]} x {found[1]} pixels, not {wanted[0]} x {wanted[1]}"


def _decode_fault(path: Path, size: tuple[int, int]) -> str | None:
    try:
        decode(path, size)
        with Image.open(path) as picture:
            picture.verify()  # the checksum of each chunk, which decoding does not look at
    except PictureError as error:
        return str(error)
    except _BROKEN as error:
        return _plain(error, path)
    return None


def _outer_fault(path: Path, size: tuple[int, int]) -> str | None:
    """What the ends of a file tell: signature, size and last chunk of a PNG, else that it is."""
    try:
        with path.open("rb", buffering=0) as file:
            start = file.read(24)
            length = file.seek(0, os.SEEK_END)
            file.seek(max(0, length - len(_PNG_END)))
            end = file.read()
            if not length:
                return "the file is empty"
            if path.suffix.lower() != ".png":
                return None
            if start[:8] != _PNG_START[: len(start)]:
                return "unreadable (it is no PNG file)"
            if len(start) < 24:
                return "the file is cut off"
            width, height = struct.unpack(">II", start[16:24])
            if (height, width) != size:
                return _wrong_size((height, width), size)
            if end != _PNG_END:
                file.seek(0)
                # Bytes after the last chunk do no harm.
                return None if _PNG_END in file.read() else "the file is cut off"
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable ({error.strerror})"
    return None


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
    try:
        with os.scandir(folder) as entries:
            # A link to a file counts as the file; one that leads nowhere as absent.
            stats = {entry.name: entry.stat() for entry in entries if entry.is_file()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise InputError(f"{folder} cannot be listed: {error.strerror}") from error
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in stats.items()}


def _digest(paths: Sequence[str], *numbers: NDArray[np.int64]) -> str:
    digest = hashlib.sha256()
    digest.update("\0".join(paths).encode("utf-8", "surrogateescape"))
    for column in numbers:
        digest.update(b"\1" + np.ascontiguousarray(column, dtype="<i8").tobytes())
    return digest.hexdigest()
