"""The progress of a run: a bar on a terminal, one plain line per evaluation elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from medldr.console import Console

SHOWN: Final = {
    "train/loss": "loss",
    "train/accuracy": "accuracy",
    "train/accuracy/mixed": "accuracy (mixed)",
    "val/loss": "val loss",
    "val/accuracy": "val accuracy",
    "val/auc": "val AUC",
}


class RunProgress:
    """Progress of one run, written to standard error by the first process only.

    Args:
        total: Steps of the whole run.
        done: Steps made before this start.
        epochs: Epochs of the whole run, if it counts in epochs.
        shown: Whether this process shows anything.
        console: Where to write; unset: standard error.
    """

    def __init__(
        self,
        total: int,
        done: int = 0,
        *,
        epochs: int | None = None,
        shown: bool = True,
        console: Console | None = None,
    ) -> None:
        self._console = console or Console(stderr=True, quiet=not shown, highlight=False)
        self._total = total
        self._done = done
        self._began_at = done
        self._epochs = epochs
        self._start = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal and shown:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("steps"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
                refresh_per_second=2,
            )
            self._task = self._bar.add_task("training", total=total, completed=done)

    def __enter__(self) -> RunProgress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def step(self) -> None:
        """One more optimizer step was made."""
        self._done += 1
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def evaluation(self, row: Mapping[str, Any], *, best: bool) -> None:
        """Show an evaluation.

        Args:
            row: As in `metrics.jsonl`.
            best: Whether it is the best so far, by the reported rule.
        """
        of = f"/{self._epochs}" if self._epochs else ""
        where = f"epoch {row['epoch']}{of}, step {row['step']}/{self._total}"
        values = [f"{text} {_number(row[key])}" for key, text in SHOWN.items() if key in row]
        mark = ["best so far"] if best else []
        left = [] if self._bar is not None or self._done >= self._total else [self._left()]
        self.note(", ".join([where, *values, *mark, *left]))

    def note(self, text: str) -> None:
        """Show a note to the user."""
        # A terminal wraps a long line between words; in a file it stays one searchable line.
        soft = not self._console.is_terminal
        self._console.print(text, soft_wrap=soft, markup=False)

    def _left(self) -> str:
        made = max(self._done - self._began_at, 1)
        seconds = (time.monotonic() - self._start) / made * (self._total - self._done)
        return f"{timedelta(seconds=round(seconds))} left"


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.4g}"
