"""What the user said on the command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from medldr.commands.new_study.words import Role


@dataclass(frozen=True)
class Options:
    """Options of `medldr new`.

    Attributes:
        place: A folder, or a table.
        table: The table in the folder; None: found.
        columns: Columns by what they mean, among them ``path``.
        folders: Meanings of the levels of a tree; empty: guessed.
        kind: ``scan``, ``microscopy`` or ``photo``; None: guessed.
        positive: The positive one of two classes; None: by their names.
    """

    place: Path
    table: Path | None = None
    columns: dict[Role, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    kind: str | None = None
    positive: str | None = None
