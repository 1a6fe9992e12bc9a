"""Every file of a data set read once before training, and what was found remembered by content.

Each file is read and decoded once, in threads, also those of the test split: one that is whole at
both ends may still be broken inside, and must not end a training of days. The next start costs a
look at each file's size and time. What is remembered is one JSON file in the cache folder for each
folder of data and each set of rules; deleting it costs time and nothing else.

Source:
    Our choice, as Git's index does it: an entry is trusted where bytes and time of change of its
    file are as they were (of the file, which nobody can set, and not of its content alone), and
    where they differ the content decides. A file that had changed within
    two seconds of being read is not trusted by its time, for another change in the same tick of the
    clock would go unseen.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.console import say
from medldr.data.files.scan import ABSENT
from medldr.data.image_table import Look
from medldr.data.threads import in_threads
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import (
    StorageError,
    kind_of_place,
    last_changed,
    reading,
    seal,
    unsealed,
    write_text,
)

_FORMAT: Final = 3
_COLUMNS: Final = ("names", "bytes", "changed", "sha256", "digests", "constant", "kind")
_SETTLED_NS: Final = 2_000_000_000
_STEP: Final = 16  # files of one piece of work of a thread


class Examined(NamedTuple):
    """What reading a file once found.

    Attributes:
        reason: Why it cannot be used; empty where it can.
        digest: Hexadecimal, of its pixels: equal images have equal ones.
        constant: Whether all its pixels are equal.
        facts: Whatever else is to be known of it without reading it again, as JSON has it.
    """

    reason: str = ""
    digest: str = ""
    constant: bool = False
    facts: Mapping[str, Any] = {}

    @property
    def look(self) -> Look:
        """What is known of its pixels, as an `ImageTable` has it."""
        return Look(self.constant, bytes.fromhex(self.digest))


class States(NamedTuple):
    """What a listing says of files, so that each need not be asked for it again.

    Attributes:
        sizes: ``(N,)`` bytes; -1 where there is no such file.
        changed: ``(N,)`` time of the last change in ns.
    """

    sizes: NDArray[np.int64]
    changed: NDArray[np.int64]


def prove(
    path_of: Callable[[int], Path],
    names: Sequence[str],
    rules: str,
    examine: Callable[[int], Examined],
    title: str,
    *,
    folder: Path,
    parts: Sequence[str] | None = None,
    states: States | None = None,
    fresh: bool = False,
) -> list[Examined]:
    """What is in each file: remembered where it has not changed, else found by reading it now.

    Args:
        path_of: The file of a row, or a folder that is one item; several rows may share one.
        names: ``(N,)`` name of each, by which it is remembered; unique.
        rules: Everything besides a file's content that decides what `examine` returns, versions of
            libraries included. Under other rules nothing is remembered.
        examine: Reads the item of a row; called in threads. What makes it unusable is the reason
            that it returns; what it raises stops everything.
        title: What is being done, for those who watch.
        folder: The data set's; each has a memory of its own.
        parts: ``(N,)`` what is meant of each file, where one holds several items; None: all of it.
        states: Size and time of each file, where these are known; None: each is asked.
        fresh: Read every file anew, whatever is remembered; what is found is remembered.

    Returns:
        One result per file, in order. Files that are absent or cannot be opened have a reason too,
        which is not remembered.
    """
    if not len(names):
        return []
    results: list[Examined | None] = [None] * len(names)
    if states is None:
        pairs = np.array([state_of(path_of(row)) for row in range(len(names))], dtype=np.int64)
        states = States(pairs[:, 0], pairs[:, 1])
    sizes, changed = states.sizes.tolist(), states.changed.tolist()
    place = _place(folder, rules)

    def recall() -> tuple[Memory, list[int]]:
        """The memory, and the rows that it knows nothing of."""
        memory = Memory() if place is None or fresh else Memory.read(place, rules)
        for row, name in enumerate(names):
            if sizes[row] < 0:
                results[row] = Examined(reason=ABSENT)
            elif results[row] is None:
                results[row] = memory.trusted(name, sizes[row], changed[row])
        return memory, [row for row, one in enumerate(results) if one is None]

    memory, rows = recall()
    if rows:
        once = alone(place, "checking the same files", needed=False) if place else nullcontext()
        with once:
            memory, rows = recall()  # another process may have examined them meanwhile
            content = functools.lru_cache(maxsize=64)(content_of) if parts else content_of

            def of(part: range) -> list[tuple[int, bytes | None, Examined]]:
                return [(rows[at], *look(rows[at])) for at in part]

            def look(row: int) -> tuple[bytes | None, Examined]:
                """sha256 of an item and what is in it; none where that is not to be remembered."""
                try:
                    sha256 = content(path_of(row))
                except FileNotFoundError:
                    return None, Examined(reason=ABSENT)
                except OSError as error:
                    return None, Examined(reason=f"unreadable ({error.strerror})")
                if parts and parts[row]:
                    sha256 = hashlib.sha256(sha256 + parts[row].encode()).digest()
                return sha256, memory.same_content(sha256) or examine(row)

            new: dict[str, Entry] = {}
            try:
                for pieces in in_threads(of, len(rows), step=_STEP, title=title):
                    now = time.time_ns()
                    for row, sha256, one in pieces:
                        results[row] = one
                        if sha256 is not None:
                            when = settled(changed[row], now)
                            new[names[row]] = Entry(sizes[row], when, sha256.hex(), one)
            finally:
                # Also where somebody interrupts: what was read by then needs no second reading.
                if place is not None and new:
                    _remember(place, rules, names, new)
    return [one for one in results if one is not None]


class Entry(NamedTuple):
    """One file that was read, and its state when it was.

    Attributes:
        size: Its bytes.
        changed: Time of its last change in ns; -1 where that is not to be trusted.
        sha256: Of its content, hexadecimal.
        examined: What was found in it.
    """

    size: int
    changed: int
    sha256: str
    examined: Examined


class Memory:
    """Entries by name.

    Attributes:
        entries: By name of the file, relative to the folder or in full.
    """

    def __init__(self, entries: dict[str, Entry] | None = None) -> None:
        self.entries = {} if entries is None else entries

    def trusted(self, name: str, size: int, changed: int) -> Examined | None:
        """What was found in a file, if it has not changed since by size and time."""
        entry = self.entries.get(name)
        if entry is None or (entry.size, entry.changed) != (size, changed):
            return None
        return entry.examined

    def same_content(self, sha256: bytes) -> Examined | None:
        """What was found in any file of this content."""
        return self._by_content.get(sha256.hex())

    @functools.cached_property
    def _by_content(self) -> dict[str, Examined]:
        return {entry.sha256: entry.examined for entry in self.entries.values()}

    @classmethod
    def read(cls, path: Path, rules: str) -> Memory:
        """The memory in a file; an empty one where it is absent, damaged, or of other rules."""
        try:
            with reading(path):
                values = json.loads(unsealed(path.read_bytes()))
            if values["format"] != _FORMAT or values["rules"] != rules:
                return cls()
            kinds = [(reason, facts) for reason, facts in values["kinds"]]
            entries = {}
            for name, size, changed, sha256, digest, constant, kind in zip(
                *(values[key] for key in _COLUMNS), strict=True
            ):
                reason, facts = kinds[kind]
                examined = Examined(reason, digest, constant, facts)
                entries[name] = Entry(size, changed, sha256, examined)
            return cls(entries)
        except (InputError, OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return cls()

    def write(self, path: Path, rules: str) -> None:
        """Write it, whole or not at all.

        In columns, and reason and facts, which many files have in common, once: half a million
        entries are some 80 MB and a second, not ten.

        Raises:
            StorageError: If it cannot be written.
        """
        entries = self.entries.values()
        kinds: dict[str, int] = {}
        columns = (
            list(self.entries),
            [entry.size for entry in entries],
            [entry.changed for entry in entries],
            [entry.sha256 for entry in entries],
            [entry.examined.digest for entry in entries],
            [entry.examined.constant for entry in entries],
            [
                kinds.setdefault(json.dumps([one.reason, one.facts], allow_nan=False), len(kinds))
                for _, _, _, one in entries
            ],
        )
        values = {
            "format": _FORMAT,
            "rules": rules,
            **dict(zip(_COLUMNS, columns, strict=True)),
            "kinds": [json.loads(kind) for kind in kinds],
        }
        text = json.dumps(values, ensure_ascii=False)
        write_text(path, text + seal(text.encode()).decode())


def settled(changed: int, now: int) -> int:
    """A time of change to be remembered: -1 for one so recent that another could look the same.

    Example:
        >>> settled(5, 10_000_000_000), settled(9_000_000_000, 10_000_000_000)
        (5, -1)
    """
    return changed if now - changed >= _SETTLED_NS else -1


def _remember(place: Path, rules: str, names: Sequence[str], new: dict[str, Entry]) -> None:
    """Add entries to a memory; those of files no longer asked for go once they are many."""
    entries = {**Memory.read(place, rules).entries, **new}
    if len(entries) > 2 * len(names):
        asked = set(names)
        entries = {name: entry for name, entry in entries.items() if name in asked}
    try:
        Memory(entries).write(place, rules)
    except (StorageError, OSError, UnicodeEncodeError) as error:
        say(f"what was found cannot be remembered: {error}")


# The state and the content of files


def state_of(path: Path) -> tuple[int, int]:
    """Bytes and time of the last change (ns) of a file; the like of a folder with its files.

    Returns:
        ``(-1, -1)`` where there is neither. Of a folder: in place of bytes a number that changes
        with the name, the bytes or the time of any file directly in it (a file put back from a
        copy is older than the latest one), and the latest time of any, or of the folder itself.
    """
    try:
        own = path.stat()
        if not stat.S_ISDIR(own.st_mode):
            return (own.st_size, last_changed(own)) if stat.S_ISREG(own.st_mode) else (-1, -1)
        files = [(file.name, file.stat()) for file in _files(path)]
    except OSError:
        return -1, -1
    latest = max([last_changed(own), *(last_changed(one) for _, one in files)])
    digest = hashlib.sha256()
    for name, one in files:
        digest.update(os.fsencode(name) + f"\0{one.st_size} {last_changed(one)}\0".encode())
    return int.from_bytes(digest.digest()[:7], "big"), latest


def content_of(path: Path) -> bytes:
    """sha256 of a file's bytes; of a folder's, over name and sha256 of each file directly in it.

    Raises:
        OSError: If it cannot be read.
    """
    if path.is_dir():
        digest = hashlib.sha256()
        for file in _files(path):
            digest.update(os.fsencode(file.name) + b"\0" + content_of(Path(file.path)))
        return digest.digest()
    if kind := kind_of_place(path):
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()


def _files(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted((e for e in entries if e.is_file()), key=lambda entry: entry.name)


# The cache folder, by one process at a time


def cache_folder(part: str) -> Path | None:
    """A folder for one kind of remembered work, made if need be.

    Args:
        part: Its name, ``looks`` or ``scans``.

    Returns:
        ``$MEDLDR_CACHE/<part>``, else ``~/.cache/medldr/cache/<part>``; None where nothing can be
        written there.
    """
    named = os.environ.get("MEDLDR_CACHE")
    try:
        base = Path(named).expanduser() if named else Path.home() / ".cache" / "medldr" / "cache"
        folder = base / part
        base.mkdir(0o777 if named else 0o700, parents=True, exist_ok=True)  # ours, or shared
        folder.mkdir(exist_ok=True)
    except (OSError, RuntimeError):  # the second where there is no home
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _place(folder: Path, rules: str) -> Path | None:
    """The file of a memory; None where nothing can be remembered."""
    looks = cache_folder("looks")
    if looks is None:
        say("what was found cannot be remembered, because the cache folder cannot be written")
        return None
    text = f"{folder.absolute()}\0{rules}"
    name = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return looks / f"{name}.json"
