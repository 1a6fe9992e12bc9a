"""Progress of a sweep: a bar on a terminal, otherwise a line per start and ending."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from medldr.console import Console
from medldr.sweeps.show import clock, count_runs, error_lines

_NAMES_WIDTH: Final = 32


@dataclass
class Outcome:
    """What became of the members, by run name.

    Attributes:
        done: Finished, now or before.
        failed: Error of each that failed, now or before.
        left_out: Why the others were not finished.
    """

    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


class SweepProgress:
    """Progress of a sweep, on standard error.

    Args:
        total: Number of members to bring to an end.
        console: Where to print; unset: standard error.
    """

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._total = total
        self._ended = 0
        self._begun: dict[str, float] = {}
        self._errors: dict[str, str] = {}  # who failed first by each error
        self._start = time.monotonic()
        self._lines = not self._console.is_terminal
        self._bar = Progress(
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("runs"),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            refresh_per_second=2,
            disable=self._lines,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> SweepProgress:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def begin(self, outcome: Outcome, elsewhere: int, total: int) -> None:
        """Show what is known before anything starts; a second wave begins anew, with more runs."""
        self._total = total
        self._bar.update(self._task, total=total)
        self._ended = len(outcome.done) + len(outcome.failed) + len(outcome.left_out)
        if outcome.done:
            self.note(f"{len(outcome.done)} of {self._total} runs are already done")
        self._list("failed before; add --retry-failed to retry", outcome.failed)
        self._list("left out", outcome.left_out)
        if elsewhere:
            self.note(f"{count_runs(elsewhere)} in progress in another process; waiting")
        self._show()

    def started(self, name: str) -> None:
        """A member's process was started."""
        self._begun[name] = time.monotonic()
        if self._lines:
            self.note(f"started {name} ({self._ended + len(self._begun)} of {self._total})")
        self._show()

    def done(self, name: str) -> None:
        """A member has finished."""
        self._end(name, "done", shown=self._lines)

    def failed(self, name: str, error: str) -> None:
        """A member has failed."""
        first = self._errors.setdefault(error, name)
        text = f"failed: {error}" if first == name else f"failed with the same error as {first}"
        self._end(name, text, shown=True)

    def left_out(self, name: str, reason: str) -> None:
        """A member will not be finished this time."""
        self._end(name, f"left out: {reason}", shown=True)

    def interrupted(self, name: str) -> None:
        """A member was stopped and resumes at the next start."""
        self._begun.pop(name, None)
        self.note(f"{name} interrupted")
        self._show()

    def elsewhere(self, name: str) -> None:
        """Another process works on a member that was started here."""
        self._begun.pop(name, None)
        self.note(f"{name} is in progress in another process; waiting for it")
        self._show()

    def stopping(self, running: int) -> None:
        """A signal arrived."""
        if running:
            self.note(
                f"stopping: {count_runs(running)} saving state; press Ctrl-C again to stop now"
            )

    def tick(self) -> None:
        """Time has passed."""
        self._bar.update(self._task, completed=self._ended)

    def _end(self, name: str, text: str, *, shown: bool) -> None:
        self._ended += 1
        begun = self._begun.pop(name, None)
        took = "" if begun is None else f" ({clock(time.monotonic() - begun)})"
        if shown:
            self.note(f"{name} {text}{took}")
        self._show()

    def _list(self, what: str, errors: Mapping[str, str]) -> None:
        if errors:
            self.note(f"{count_runs(len(errors))} {what}:")
        for line in error_lines(errors):
            self.note(f"  {line}")

    def _show(self) -> None:
        names = ", ".join(self._begun)
        if len(names) > _NAMES_WIDTH:
            names = f"{len(self._begun)}: {names}"[: _NAMES_WIDTH - 1] + "…"
        self._bar.update(self._task, completed=self._ended, description=names)

    def note(self, text: str) -> None:
        """Print a line, in a log with the time that has passed."""
        elapsed = f"[{clock(time.monotonic() - self._start)}] " if self._lines else ""
        self._console.print(elapsed + text, soft_wrap=self._lines, markup=False)
