"""Images kept once they are read: one array, in memory or memory-mapped from the disk.

Source:
    Our choice. MONAI's caches keep a tensor, or a file, per item; one array is indexed by the
    training device in one step, shared by forked workers and by the runs of a sweep, and read back
    with a single checksum. The name of a file on the disk is a checksum over the content of all
    items, every rule and the versions of the packages, so what changed never meets images of
    before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from medldr.data.files.image import ScanImages
from medldr.data.files.memory import alone, cache_folder
from medldr.data.image_table import Images
from medldr.data.threads import in_threads
from medldr.errors import InputError
from medldr.folders.files import checksum, storage_errors, write_text

_SPARE: Final = 1 << 24
_KEPT_S: Final = 30 * 24 * 3600
_OURS: Final = (".npy", ".partial", ".lock")
_CURE: Final = "set data.cache=memory or off, or name a folder with room in $MEDLDR_CACHE"


def stored(images: ScanImages, where: str, name: str) -> Images:
    """The images of a data set, read now and kept, or as they are.

    Args:
        images: The images.
        where: ``disk``, ``memory`` or ``off``.
        name: The data set's, for those who watch.

    Raises:
        InputError: If an item cannot be used, or there is no room.
    """
    if where == "off":
        return images
    if where == "memory":
        array = np.empty(images.shape, images.dtype)
        _fill(array, images, name)
        return array
    folder = cache_folder("scans")
    if folder is None:
        return stored(images, "memory", name)
    return _on_disk(images, folder, name)


def _on_disk(images: ScanImages, folder: Path, name: str) -> NDArray[Any]:
    path = folder / f"{images.key}.npy"
    known = _opened(path, images)
    if known is not None:
        return known
    with storage_errors(path), alone(path, "reading the same scans"):
        known = _opened(path, images)  # another process may have been faster
        if known is not None:
            return known
        size = int(np.prod(images.shape, dtype=np.int64)) * images.dtype.itemsize
        free = shutil.disk_usage(folder).free
        if size + _SPARE > free:
            raise InputError(
                f"no space for the images of {name} in {folder}: {size:,} bytes needed, {free:,} "
                f"free. Free some space, {_CURE}"
            )
        _tidy(folder)
        partial = path.with_suffix(".partial")
        try:
            array = open_memmap(partial, "w+", images.dtype, images.shape)
            _reserve(partial)
            _fill(array, images, name)
            array.flush()
            del array
            write_text(path.with_suffix(".sha256"), checksum(partial))
            partial.replace(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                partial.unlink()
    made = _opened(path, images)
    if made is None:
        raise InputError(
            f"{path} does not read back as written. Run the same command again; if it recurs, "
            f"{_CURE}"
        )
    return made


def _opened(path: Path, images: ScanImages) -> NDArray[Any] | None:
    """The kept array; None where there is none, or it isn't what was written."""
    try:
        expected = path.with_suffix(".sha256").read_text(encoding="ascii")
        if checksum(path) != expected:
            return None
        os.utime(path)  # when it was last used
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return array if (array.shape, array.dtype) == (images.shape, images.dtype) else None


def _tidy(folder: Path) -> None:
    """Remove arrays that nobody has used for a month, and what killed processes left."""
    month_ago = time.time() - _KEPT_S
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if file.suffix in _OURS and file.stat().st_mtime < month_ago:
                file.unlink()
                file.with_suffix(".sha256").unlink(missing_ok=True)


def _reserve(path: Path) -> None:
    """Take the room now: on a full disk, writing to a mapped file would kill the process."""
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file, contextlib.suppress(NotImplementedError):
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)


def _fill(array: NDArray[Any], images: ScanImages, name: str) -> None:
    def write(part: range) -> None:
        for row in part:
            array[row] = images[row]

    for _ in in_threads(write, len(images), step=4, title=f"reading {name}"):
        pass
