"""A sweep file with a comment on every decision."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from medldr.commands.new_study.finding import Finding
from medldr.config.yaml_text import write_yaml

_WIDTH: Final = 96
_MOST_UP: Final = 3


def beside(path: Path, folder: Path) -> str:
    """A path as a file in a folder writes it: relative where the two are near each other.

    Example:
        >>> beside(Path("/data/study/scans"), Path("/data/study")), beside(Path("/x"), Path("/a/b"))
        ('scans', '/x')
    """
    absolute = Path(os.path.abspath(path.expanduser()))
    home = Path(os.path.abspath(folder))
    shared = Path(os.path.commonpath([absolute, home]))
    up = len(home.parts) - len(shared.parts)
    if up > _MOST_UP or (up and len(shared.parts) <= 1):
        return str(absolute)
    return Path(os.path.relpath(absolute, home)).as_posix()


def comment(text: str, indent: int = 0) -> Iterator[str]:
    """Lines of a comment; nothing of the text can end it."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if plain:
        yield from textwrap.wrap(
            plain,
            _WIDTH,
            initial_indent=" " * indent + "# ",
            subsequent_indent=" " * indent + "# ",
            break_long_words=False,
            break_on_hyphens=False,
        )


def entry(key: str, value: Any, indent: int = 0, *, used: bool = True) -> Iterator[str]:
    """Lines of a key with its value; commented out where it is not used."""
    lead = " " * indent + ("" if used else "# ")
    for line in write_yaml({key: value}).splitlines():
        yield lead + line


def section(findings: Iterable[Finding], folder: Path, indent: int) -> Iterator[str]:
    """Lines of several keys, each below its comment.

    Args:
        findings: The keys.
        folder: That of the file, to which paths are relative.
        indent: Blanks before each line.
    """
    for one in findings:
        yield from comment(one.why, indent)
        if one.key:
            value = beside(one.value, folder) if isinstance(one.value, Path) else one.value
            yield from entry(one.key, value, indent, used=one.used)


def joined(blocks: Sequence[Iterable[str]]) -> str:
    """Text of a file."""
    return "".join(f"{line}\n" for block in blocks for line in block)
