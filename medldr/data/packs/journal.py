"""What an unfinished pack already has: the blocks written, each with its hash, line by line.

The first line says what is being packed. If the data set or its files have changed since, packing
starts over.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable, LazyImages
from medldr.data.packs.format import deciding_keys
from medldr.data.packs.table import hash_columns
from medldr.folders.files import append_line

_NAME: Final = "written.jsonl"


class Journal:
    """The record of written blocks in an unfinished pack.

    Args:
        folder: The unfinished pack.
        plan: What is being packed; see `plan_of`.
    """

    def __init__(self, folder: Path, plan: str) -> None:
        self._path = folder / _NAME
        self._plan = plan

    def read(self) -> dict[int, str] | None:
        """Hash by number of each block on record; None where another plan or none was begun."""
        try:
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        records = [record for record in map(_record, lines) if record is not None]
        if not records or records[0].get("plan") != self._plan:
            return None
        found: dict[int, str] = {}
        for record in records[1:]:
            number, digest = record.get("block"), record.get("sha256")
            if isinstance(number, int) and isinstance(digest, str):
                found[number] = digest
        return found

    def begin(self) -> None:
        """Start the record of a new plan."""
        append_line(self._path, json.dumps({"plan": self._plan}))

    def add(self, number: int, digest: str) -> None:
        """Record a block as written."""
        append_line(self._path, json.dumps({"block": number, "sha256": digest}))

    def remove(self, folder: Path) -> None:
        """Remove the record from the finished pack, now in ``folder``."""
        (folder / _NAME).unlink(missing_ok=True)


def _record(line: str) -> dict[str, Any] | None:
    """One line; None for the half of one, which a killed process may leave."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def plan_of(table: ImageTable, section: DatasetConfig, each: int) -> str:
    """sha256 of what is packed, as far as it can be known without reading any pixel.

    Args:
        table: The table as the data set gives it.
        section: Its `data` section.
        each: Rows per block.
    """
    what = {
        "dataset": table.name,
        "keys": deciding_keys(section),
        "shape": list(table.images.shape),
        "columns": hash_columns(table),
        "hashes": table.hashes,
        "stamp": table.images.stamp if isinstance(table.images, LazyImages) else None,
        "block_rows": each,
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()
