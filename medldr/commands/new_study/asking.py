"""What was found and decided about each key of a study, and questions on what no file can tell.

Source:
    Our choice: without a terminal, or with ``--yes``, nobody is there to answer, so the best guess
    is taken and the file says that it is one. Where a wrong guess would make a wrong study (which
    table lists the scans, which column is the label), there is no guess but an error that names the
    option which answers it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import typer

from medldr.data.counting import some
from medldr.errors import InputError, did_you_mean

Role = Literal["path", "label", "domain", "group", "split"]
"""What a column may mean."""

GUESS = "A guess: please check it."
TOLD = "As you said."
LISTED: Final = 8
"""Most names that a line gives."""


@dataclass(frozen=True)
class Options:
    """What the user said on the command line.

    Attributes:
        place: A folder, or a table.
        table: The table in the folder; None: found.
        sheet: Of a workbook; None: found.
        columns: Columns by what they mean, among them ``path``.
        folders: Meanings of the levels of a tree; empty: guessed.
        kind: ``scan``, ``microscopy`` or ``photo``; None: guessed.
        positive: The positive one of two classes; None: by their names.
    """

    place: Path
    table: Path | None = None
    sheet: str | None = None
    columns: Mapping[Role, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    kind: str | None = None
    positive: str | None = None


class Finding(NamedTuple):
    """A decision about one key, which becomes a line of the file and its comment.

    Attributes:
        key: Within its section, such as ``label``; empty for a remark without a key.
        value: Its value; a `Path` is written relative to the file.
        why: What was found, in sentences. Without names of files or of patients.
        used: Whether the key is set; else it is a commented line that readers may uncomment.
    """

    key: str
    value: Any
    why: str
    used: bool = True


def remark(why: str) -> Finding:
    """A comment that goes with no key."""
    return Finding("", None, why, used=False)


def settings(findings: Iterable[Finding]) -> dict[str, Any]:
    """The keys that are set.

    Example:
        >>> settings([Finding("size", 64, ""), Finding("window", "ct", "", used=False)])
        {'size': 64}
    """
    return {one.key: one.value for one in findings if one.used}


class Answer(NamedTuple):
    """A choice among some.

    Attributes:
        value: The choice.
        why: Who made it, as a sentence.
    """

    value: str
    why: str


class Asker:
    """Asks, or takes the best guess.

    Args:
        interactive: Whether somebody is there to answer.
    """

    def __init__(self, *, interactive: bool) -> None:
        self.interactive = interactive

    def choose(self, question: str, options: Sequence[str], best: str, *, flag: str = "") -> Answer:
        """One of some options.

        Args:
            question: What is asked, without options and without a question mark.
            options: What may be answered.
            best: The one that is taken where nobody answers.
            flag: The option of the command that answers it, where a wrong guess would make a wrong
                study: then nothing is guessed.

        Raises:
            InputError: If nobody is there to answer what must not be guessed.
        """
        commas = any("," in option for option in options)
        shown = list(map(repr, options)) if commas else options
        if not self.interactive:
            if flag:
                said = f"Say it with {flag}. Possible: {some(shown, LISTED)}"
                raise InputError(f"{question}? {said}")
            return Answer(best, GUESS)
        while True:
            text = f"{question} ({', '.join(shown)})"
            given = str(typer.prompt(text, default=best, err=True)).strip().replace(", ", ",")
            if given in options:
                return Answer(given, TOLD)
            typer.echo(f"{given!r} is none of them.{did_you_mean(given, options)}", err=True)

    def confirm(self, question: str, *, flag: str = "") -> str:
        """Whether to do what is asked; who does not want it stops here.

        Args:
            question: What is asked, as a sentence.
            flag: As for `choose`.

        Returns:
            Who agreed, as a sentence.

        Raises:
            typer.Abort: If the answer is no.
            InputError: If nobody is there to answer what must not be guessed.
        """
        if not self.interactive:
            if flag:
                raise InputError(f"{question} Say it with {flag}")
            return GUESS
        typer.confirm(question, default=True, abort=True, err=True)
        return TOLD
