"""The terminal: what is printed there cannot act on it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from medldr.foreign_text import visible


class Console(RichConsole):
    """A console on which texts cannot move the cursor; its own colours and bars are as ever."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """What is printed, with each control character in a text made visible."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=visible(part.text))


def say(text: str, to: RichConsole | None = None) -> None:
    """Print a text as it is, on one line however long: lines are searched and paths copied.

    Args:
        text: The text.
        to: Where; unset: beside the results, on the standard error stream.
    """
    (to or Console(stderr=True)).print(text, soft_wrap=True, markup=False, highlight=False)
