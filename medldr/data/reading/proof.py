"""Proving before the first step that every file of a data set can be read.

Each file is read and decoded once, in threads, also those of the test split: one that is whole at
both ends may still be broken inside, and must not end a training of days. What was found is
remembered by content (see `memory`), so the next start costs a look at each file's size and time.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.reading.alone import alone, say
from medldr.data.reading.cache_folder import cache_folder
from medldr.data.reading.content import Contents, state_of
from medldr.data.reading.memory import Entry, Examined, Memory, settled
from medldr.data.reading.threads import in_threads
from medldr.data.scans.picture_file import ABSENT
from medldr.folders.files import StorageError

__all__ = ["Examined", "States", "prove"]

_STEP: Final = 16  # files of one piece of work of a thread
_ABSENT: Final = Examined(reason=ABSENT)


class States(NamedTuple):
    """What a listing says of files, so that each need not be asked for it again.

    Attributes:
        sizes: ``(N,)`` bytes; -1 where there is no such file.
        changed: ``(N,)`` time of the last change in ns.
    """

    sizes: NDArray[np.int64]
    changed: NDArray[np.int64]


def prove(
    paths: Sequence[Path],
    names: Sequence[str],
    rules: str,
    examine: Callable[[int], Examined],
    title: str,
    *,
    parts: Sequence[str] | None = None,
    folder: Path | None = None,
    states: States | None = None,
    fresh: bool = False,
) -> list[Examined]:
    """What is in each file: remembered where it has not changed, else found by reading it now.

    Args:
        paths: ``(N,)`` files, or folders of which each is one item; several rows may share one.
        names: ``(N,)`` name of each, by which it is remembered; unique.
        rules: Everything besides a file's content that decides what `examine` returns, versions of
            libraries included. Under other rules nothing is remembered.
        examine: Reads the item of a row; called in threads. What makes it unusable is the reason
            that it returns; what it raises stops everything.
        title: What is being done, for those who watch.
        parts: ``(N,)`` what is meant of each file, where one holds several items; None: all of it.
        folder: The data set's; each has a memory of its own. None: the one common to all paths.
        states: Size and time of each file, where these are known; None: each is asked.
        fresh: Read every file anew, whatever is remembered; what is found is remembered.

    Returns:
        One result per file, in order. Files that are absent or cannot be opened have a reason too,
        which is not remembered.
    """
    if not len(paths):
        return []
    found: list[Examined | None] = [None] * len(paths)
    known = states if states is not None else _states(paths)
    sizes, changed = known.sizes.tolist(), known.changed.tolist()
    place = _place(folder, paths, rules)

    def recall(memory: Memory) -> list[int]:
        for row, name in enumerate(names):
            if found[row] is None:
                absent = sizes[row] < 0
                found[row] = _ABSENT if absent else memory.trusted(name, sizes[row], changed[row])
        return [row for row, one in enumerate(found) if one is None]

    memory = Memory() if place is None or fresh else Memory.read(place, rules)
    if not recall(memory):
        return [one for one in found if one is not None]
    with alone(place, "checking the same files"):
        # Another process may have examined the same files while this one waited.
        memory = Memory() if place is None or fresh else Memory.read(place, rules)
        rows = recall(memory)
        new: dict[str, Entry] = {}
        contents = Contents(paths, parts)

        def of(part: range) -> list[tuple[int, bytes | None, Examined]]:
            return [(rows[at], *_examined(rows[at], contents, memory, examine)) for at in part]

        try:
            for part in in_threads(of, len(rows), step=_STEP, title=title):
                now = time.time_ns()
                for row, sha256, one in part:
                    found[row] = one
                    if sha256 is not None:
                        when = settled(changed[row], now)
                        new[names[row]] = Entry(sizes[row], when, sha256, one)
        finally:
            # Also where somebody interrupts: what was read by then needs no second reading.
            if place is not None and new:
                _remember(place, rules, names, new)
    return [one for one in found if one is not None]


def _examined(
    row: int, contents: Contents, memory: Memory, examine: Callable[[int], Examined]
) -> tuple[bytes | None, Examined]:
    """sha256 of a file and what is in it; no sha256 where that is not to be remembered."""
    try:
        sha256 = contents.of(row)
    except FileNotFoundError:
        return None, _ABSENT
    except OSError as error:
        return None, Examined(reason=f"unreadable ({error.strerror})")
    known = memory.same_content(sha256)
    return sha256, examine(row) if known is None else known


def _states(paths: Sequence[Path]) -> States:
    found = np.array([state_of(path) for path in paths], dtype=np.int64)
    return States(found[:, 0], found[:, 1])


def _place(folder: Path | None, paths: Sequence[Path], rules: str) -> Path | None:
    """The file of a memory; None where nothing can be remembered."""
    looks = cache_folder("looks")
    if looks is None:
        say("what was found cannot be remembered, because the cache folder cannot be written")
        return None
    top = folder if folder is not None else os.path.commonpath([path.absolute() for path in paths])
    text = f"{Path(top).absolute()}\0{rules}"
    name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return looks / f"{name}.json"


def _remember(place: Path, rules: str, names: Sequence[str], new: dict[str, Entry]) -> None:
    """Add entries to a memory; those of files no longer asked for go once they are many."""
    before = Memory.read(place, rules).entries
    entries = {**before, **new}
    if len(entries) > 2 * len(names):
        asked = set(names)
        entries = {name: entry for name, entry in entries.items() if name in asked}
    try:
        Memory(entries).write(place, rules)
    except (StorageError, OSError, UnicodeEncodeError) as error:
        say(f"what was found cannot be remembered: {error}")
