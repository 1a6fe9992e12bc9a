"""Folders that are there whole or not at all."""

from __future__ import annotations

import glob
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from medldr.folders.files import storage_errors, sync_folder

_ABANDONED: Final = 86_400.0
"""Seconds after which no process is still at work on a folder."""


@contextmanager
def whole_folder(to: Path) -> Iterator[Path]:
    """A hidden folder beside another that takes its name, and its place, when the block succeeds.

    Args:
        to: The folder to make; what is there stays until the block has ended.

    Raises:
        StorageError: If it cannot be written.
    """
    to = to.resolve()
    with storage_errors(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(to)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}.", suffix=".tmp", dir=to.parent))
    try:
        folder = made / to.name  # a folder with everybody's usual rights, which mkdtemp's lacks
        folder.mkdir()
        yield folder
        with storage_errors(to):
            _put(folder, to, made / "before")
    finally:
        shutil.rmtree(made)


def _remove_abandoned(to: Path) -> None:
    """Remove what killed processes left half made, a day ago or more."""
    for left in to.parent.glob(f".{glob.escape(to.name)}.*.tmp"):
        if left.is_dir() and time.time() - left.stat().st_mtime > _ABANDONED:
            shutil.rmtree(left, ignore_errors=True)


def _put(folder: Path, to: Path, before: Path) -> None:
    """Give a folder its name; what had it goes to `before`, and comes back if that fails."""
    if to.exists():
        to.replace(before)
    try:
        folder.replace(to)
    except OSError:
        if before.exists():
            before.replace(to)
        raise
    sync_folder(to.parent)
