"""Questions on what no file can tell, asked on a terminal and nowhere else.

Source:
    Our choice: without a terminal, or with ``--yes``, nobody is there to answer, so the best guess
    is taken and the file says that it is one. Where a wrong guess would make a wrong study (which
    column is the label), there is no guess but an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import typer

from medldr.errors import did_you_mean

GUESS = "A guess: please check it."
TOLD = "As you said."


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

    def choose(self, question: str, options: Sequence[str], best: str) -> Answer:
        """One of some options.

        Args:
            question: What is asked, without options and without a question mark.
            options: What may be answered.
            best: The one that is taken where nobody answers.
        """
        if not self.interactive:
            return Answer(best, GUESS)
        while True:
            text = f"{question} ({', '.join(options)})"
            given = str(typer.prompt(text, default=best, err=True)).strip()
            if given in options:
                return Answer(given, TOLD)
            typer.echo(f"{given!r} is none of them.{did_you_mean(given, options)}", err=True)

    def confirm(self, question: str) -> str:
        """Whether to do what is asked; who does not want it stops here.

        Returns:
            Who agreed, as a sentence.

        Raises:
            typer.Abort: If the answer is no.
        """
        if not self.interactive:
            return GUESS
        typer.confirm(question, default=True, abort=True, err=True)
        return TOLD
