"""Folders where the files of datasets are searched."""

from __future__ import annotations

import os
from pathlib import Path


def data_roots(root: Path | None, *also: Path) -> list[Path]:
    """The folders in which files are looked for, in order; downloads go to the first.

    Args:
        root: ``data.root``; when it is set, nothing else is looked at.
        also: Further folders that a dataset's own package uses.

    Returns:
        ``[root]``, or ``$MEDLDR_DATA``, else ``~/.cache/medldr``, followed by ``also``.

    Example:
        >>> [str(folder) for folder in data_roots(Path("scans"))]
        ['scans']
    """
    if root is not None:
        return [Path(root).expanduser()]
    named = os.environ.get("MEDLDR_DATA")
    first = Path(named).expanduser() if named else Path.home() / ".cache" / "medldr"
    return [first, *also]
