"""The rows of `metrics.jsonl`, the source of all curves: one flat record per evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medldr.folders.files import append_line, write_text


class History:
    """The rows so far, in memory, in checkpoints and on disk.

    Args:
        path: The file.
        writes: Whether this process writes it.
    """

    def __init__(self, path: Path, *, writes: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._path = path
        self._writes = writes

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; numbers that are not finite become null."""
        plain = {key: _plain(value) for key, value in row.items()}
        self.rows.append(plain)
        if self._writes:
            append_line(self._path, json.dumps(plain, allow_nan=False))

    def rewrite(self) -> None:
        """Make the file hold exactly these rows.

        A run that was killed may have written rows after its last checkpoint; resuming from
        there writes them again, and no row may appear twice.
        """
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in self.rows)
        if self._writes and not (self._path.exists() and self._path.read_text("utf-8") == text):
            write_text(self._path, text)

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"rows": self.rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.rows = [dict(row) for row in state["rows"]]


def _plain(value: Any) -> Any:
    # NumPy's floats subclass Python's, but a checkpoint may hold only the latter.
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
