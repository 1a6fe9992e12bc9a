"""Progress of work over many images: a bar on a terminal, now and then a line in a log."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

_LINE_EVERY_S = 30.0


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Images per second."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


@contextlib.contextmanager
def progress(console: Console, title: str, rows: int) -> Iterator[Callable[[int], None]]:
    """Show the progress of work over ``rows`` images; a terminal's bar is removed at the end.

    Args:
        console: Where to show it.
        title: What is being done.
        rows: Images in all.

    Yields:
        Function to call with the number of images done since the last call.
    """
    if console.is_terminal:
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("images"),
            _Rate(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            refresh_per_second=4,
            transient=True,
        )
        with bar:
            task = bar.add_task(title, total=rows)
            yield lambda more: bar.advance(task, more)
        return
    start = said = time.monotonic()
    done = 0

    def advance(more: int) -> None:
        nonlocal done, said
        done += more
        now = time.monotonic()
        if now - said < _LINE_EVERY_S or done >= rows:
            return
        said = now
        rate = done / (now - start)
        left = timedelta(seconds=round((rows - done) / rate))
        console.print(
            f"{title}: {done:,} of {rows:,} images, {rate:,.0f}/s, {left} left",
            soft_wrap=True,
            highlight=False,
        )

    yield advance
