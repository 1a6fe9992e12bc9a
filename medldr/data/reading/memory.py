"""What was found in files that were read once, remembered by their content.

One JSON file for each folder of data and each set of rules. An entry is trusted where bytes and
time of change of its file are as they were; where they differ, the content decides.

Source:
    Our choice, as Git's index does it: a file that had changed within two seconds of being read is
    not trusted by its time, for another change in the same tick of the clock would go unseen.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.folders.files import read_json, write_json

_FORMAT: Final = 1
_SETTLED_NS: Final = 2_000_000_000
_SHA256_BYTES: Final = 32


class Examined(NamedTuple):
    """What one look at a file found.

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


class Entry(NamedTuple):
    """An examined file.

    Attributes:
        size: Its bytes.
        changed: Time of its last change in ns; -1 where that is not to be trusted.
        sha256: Of its content.
        examined: What was found in it.
    """

    size: int
    changed: int
    sha256: bytes
    examined: Examined


class Memory:
    """Entries by name.

    Attributes:
        entries: By name of the file, relative to the folder or in full.
    """

    def __init__(self, entries: dict[str, Entry] | None = None) -> None:
        self.entries = {} if entries is None else entries
        self._by_content: dict[bytes, Examined] | None = None

    def trusted(self, name: str, size: int, changed: int) -> Examined | None:
        """What was found in a file, if it has not changed since by size and time."""
        entry = self.entries.get(name)
        if entry is None or (entry.size, entry.changed) != (size, changed):
            return None
        return entry.examined

    def same_content(self, sha256: bytes) -> Examined | None:
        """What was found in any file of this content."""
        if self._by_content is None:
            known = self.entries.values()
            self._by_content = {entry.sha256: entry.examined for entry in known}
        return self._by_content.get(sha256)

    @classmethod
    def read(cls, path: Path, rules: str) -> Memory:
        """The memory in a file; an empty one where it is absent, damaged, or of other rules."""
        try:
            values = read_json(path)
            if values["format"] != _FORMAT or values["rules"] != rules:
                return cls()
            return cls(_unpacked(values))
        except (InputError, OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
            return cls()

    def write(self, path: Path, rules: str) -> None:
        """Write it, whole or not at all.

        Raises:
            StorageError: If it cannot be written.
        """
        write_json(path, {"format": _FORMAT, "rules": rules, **_packed(self.entries)})


def settled(changed: int, now: int) -> int:
    """A time of change to be remembered: -1 for one so recent that another could look the same.

    Example:
        >>> settled(5, 10_000_000_000), settled(9_000_000_000, 10_000_000_000)
        (5, -1)
    """
    return changed if now - changed >= _SETTLED_NS else -1


def _packed(entries: dict[str, Entry]) -> dict[str, Any]:
    """Entries as columns: half a million of them are some 70 MB and a second, not ten.

    What many files have in common, reason and facts, is kept once.
    """
    known = list(entries.values())
    kinds: dict[str, int] = {}
    kind = np.empty(len(known), "<i8")
    for row, entry in enumerate(known):
        found = entry.examined
        text = json.dumps([found.reason, found.facts], allow_nan=False)
        kind[row] = kinds.setdefault(text, len(kinds))
    return {
        "names": list(entries),
        "bytes": _text(np.array([entry.size for entry in known], "<i8")),
        "changed": _text(np.array([entry.changed for entry in known], "<i8")),
        "sha256": base64.b64encode(b"".join(entry.sha256 for entry in known)).decode(),
        "digests": " ".join(entry.examined.digest or "-" for entry in known),
        "constant": _text(np.array([entry.examined.constant for entry in known], "<i8")),
        "kind": _text(kind),
        "kinds": [json.loads(text) for text in kinds],
    }


def _unpacked(values: dict[str, Any]) -> dict[str, Entry]:
    names, kinds = values["names"], values["kinds"]
    sha256 = base64.b64decode(values["sha256"], validate=True)
    digests = values["digests"].split(" ") if names else []
    columns = (_numbers(values[key]) for key in ("bytes", "changed", "constant", "kind"))
    content = (sha256[at : at + _SHA256_BYTES] for at in range(0, len(sha256), _SHA256_BYTES))
    entries = {}
    for name, digest, content_hash, size, changed, constant, kind in zip(
        names, digests, content, *columns, strict=True
    ):
        reason, facts = kinds[kind]
        examined = Examined(reason, "" if digest == "-" else digest, bool(constant), facts)
        entries[name] = Entry(size, changed, content_hash, examined)
    return entries


def _text(column: NDArray[np.int64]) -> str:
    return base64.b64encode(column.tobytes()).decode()


def _numbers(text: str) -> list[int]:
    found: list[int] = np.frombuffer(base64.b64decode(text, validate=True), "<i8").tolist()
    return found
