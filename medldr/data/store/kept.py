"""Scans kept once they are read: one array, in memory or memory-mapped from the disk.

Source:
    Our choice. MONAI's caches keep a tensor, or a file, per item; one array is indexed by the
    training device in one step, and shared by forked workers and by the runs of a sweep. Its folder
    is named by a checksum over the content and header of all items, every rule, and the versions of
    the packages, so what changed never meets images of before.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.console import Console
from medldr.data.files.image import ScanImages
from medldr.data.files.memory import cache_folder
from medldr.data.image_table import Images
from medldr.data.store.array import (
    IMAGES,
    Blocks,
    open_array,
    other_blocks,
    partial_of,
    take_name,
    write_array,
)
from medldr.data.threads import in_threads
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import read_json, storage_errors, write_json
from medldr.folders.provenance import cores

_FACTS: Final = "array.json"
_BLOCK_BYTES: Final = 1 << 22
"""Small, so that all processes have work until the end."""
_KEPT_S: Final = 30 * 24 * 3600
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
    scans = cache_folder("scans") if where == "disk" else None
    if scans is None:
        return _in_memory(images, name)
    folder = scans / images.key
    kept = _opened(folder, images)
    if kept is not None:
        return kept
    with storage_errors(folder), alone(folder, "reading the same scans"):
        kept = _opened(folder, images)  # another process may have been faster
        if kept is not None:
            return kept
        _tidy(scans)
        _write(images, folder, name)
    kept = _opened(folder, images)
    if kept is None:
        raise InputError(
            f"{folder} does not read back as written. Run the same command again; if it recurs, "
            f"{_CURE}"
        )
    return kept


def _write(images: ScanImages, folder: Path, name: str) -> None:
    blocks = Blocks.of(images, _BLOCK_BYTES)
    try:
        digests = write_array(
            images,
            blocks,
            folder,
            images.key,
            workers=cores() if len(blocks) > 1 else 0,
            console=Console(stderr=True),
            title=f"reading {name}",
            room=_CURE,
        )
    except InputError:  # once that is mended, the folder will have another name
        shutil.rmtree(partial_of(folder), ignore_errors=True)
        raise
    write_json(partial_of(folder) / _FACTS, {"block_rows": blocks.each, "blocks": digests})
    take_name(folder)


def _opened(folder: Path, images: ScanImages) -> NDArray[Any] | None:
    """The kept array; None where there is none, or it isn't what was written."""
    try:
        facts = read_json(folder / _FACTS)
        array = open_array(folder / IMAGES, images.dtype, images.shape)
        blocks = Blocks(len(images), facts["block_rows"])
        digests = dict(enumerate(facts["blocks"]))
        os.utime(folder)  # when it was last used
    except (InputError, OSError, ValueError, EOFError, KeyError, TypeError):
        return None
    if len(digests) != len(blocks):
        return None
    quiet = Console(quiet=True)
    return None if other_blocks(array, blocks, digests, quiet, "verifying") else array


def _tidy(scans: Path) -> None:
    """Remove arrays that nobody has used for a month, and what killed processes left."""
    month_ago = time.time() - _KEPT_S
    for path in scans.iterdir():
        with contextlib.suppress(OSError):
            ours = path.suffix in (".partial", ".lock") or (path / _FACTS).is_file()
            if ours and path.stat().st_mtime < month_ago:
                shutil.rmtree(path) if path.is_dir() else path.unlink()


def _in_memory(images: ScanImages, name: str) -> NDArray[Any]:
    array = np.empty(images.shape, images.dtype)

    def write(part: range) -> None:
        for row in part:
            array[row] = images[row]

    for _ in in_threads(write, len(images), step=4, title=f"reading {name}"):
        pass
    return array
