"""Where work on data files is remembered between runs; deleting it costs time and nothing else."""

from __future__ import annotations

import os
from pathlib import Path


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
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):  # the second where there is no home
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
