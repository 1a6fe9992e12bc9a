"""Sweeps on the terminal: how far one is, and what it would start; readable at 80 columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from medldr.folders.sweep_record import Member
from medldr.reporting.writers.terminal import console
from medldr.sweeps.same_errors import group_same_errors, some_runs
from medldr.sweeps.status import AT_WORK, STATES, MemberStatus, Standing, State, SweepStatus

COLOURS: Final = {
    "failed": "red",
    "unreadable": "red",
    "running": "green",
    "launched": "green",
    "done": "dim",
}
_PROBLEMS: Final[tuple[State, ...]] = ("failed", "unreadable", "interrupted")
_SEED_AND_STATE: Final = 25
"""Characters that the other columns of a plan take, gaps included."""


def print_status(status: SweepStatus, out: Console | None = None) -> None:
    """Print how far a sweep is: counts, a row per label, what went wrong, the time left.

    Args:
        status: From `status_of`.
        out: Where to print; unset: standard output.
    """
    out = out or console()
    soft = not out.is_terminal
    out.print(Text(f"{status.name}: {counts_line(status)}"), soft_wrap=soft)
    if status.overrides:
        out.print(Text(f"started with {' '.join(status.overrides)}"), soft_wrap=soft)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("label", overflow="fold", min_width=12)
    table.add_column("runs", no_wrap=True)
    table.add_column("now", no_wrap=True)
    table.add_column("mean time", justify="right", no_wrap=True)
    for label in dict.fromkeys(entry.member.label for entry in status.members):
        entries = [entry for entry in status.members if entry.member.label == label]
        table.add_row(Text(label), *_row(entries))
    out.print(table)
    for text in _problems(status.members):
        out.print(text, soft_wrap=soft)
    out.print(time_line(status), markup=False, soft_wrap=soft)


def _problems(members: Sequence[MemberStatus]) -> Iterator[Text]:
    """What went wrong; an error that several members share is shown once."""
    for state in _PROBLEMS:
        entries = [entry for entry in members if entry.standing.state == state]
        errors = {_place(entry): entry.standing.error for entry in entries if entry.standing.error}
        for error, places in group_same_errors(errors).items():
            several = len(places) > 1
            text = Text(f"{state}: " if several else f"{places[0]} {state}: ", style="bold")
            text.append(error, style=COLOURS.get(state, "none"))
            yield text.append(f"\n  {some_runs(places)}", style="none") if several else text


def _place(entry: MemberStatus) -> str:
    """A run and its last position."""
    return f"{entry.member.run} at {entry.position}" if entry.position else entry.member.run


def counts_line(status: SweepStatus) -> str:
    """Members in each state, as text: ``5 runs: 3 done, 1 running, 1 waiting``."""
    parts = ", ".join(f"{count} {state}" for state, count in status.counts.items())
    return f"{_runs(len(status.members))}: {parts}"


def time_line(status: SweepStatus) -> str:
    """The expected time left, as a sentence."""
    running = sum(status.counts.get(state, 0) for state in AT_WORK)
    if status.left_s == 0 and not running:
        return "nothing is left to run"
    if status.left_s is None:
        return "expected time left: unknown until a first run is done"
    now = f"{running} runs at once, as now" if running > 1 else "one run at a time"
    return f"expected time left: {clock(status.left_s)} (assuming {now})"


def _row(entries: Sequence[MemberStatus]) -> tuple[Text, Text, str]:
    counts = Counter(entry.standing.state for entry in entries)
    said = Text("\n").join(
        Text(f"{counts[state]} {state}", style=COLOURS.get(state, ""))
        for state in STATES
        if counts[state]
    )
    now = Text("\n".join(filter(None, map(_position, entries))))
    spent = [entry.seconds for entry in entries if entry.standing.state == "done"]
    return said, now, clock(sum(spent) / len(spent)) if spent else ""


def _position(entry: MemberStatus) -> str:
    """How far a started member is; empty for the others."""
    seed, state = f"s{entry.member.seed}", entry.standing.state
    if state == "running":
        return f"{seed}: {entry.position or 'starting'}, {clock(entry.seconds)}"
    if state == "interrupted" and entry.position:
        return f"{seed}: {entry.position}, stopped"
    return ""


def print_plan(
    name: str,
    folder: Path,
    standings: Sequence[tuple[Member, Standing]],
    out: Console | None = None,
) -> None:
    """Print the members of a sweep and the state of each.

    Args:
        name: Name of the sweep.
        folder: Its folder.
        standings: Members, in the order in which they start.
        out: Where to print; unset: standard output.
    """
    out = out or console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    members = [member for member, _ in standings]
    places = _fitting(members, out.width)
    table.add_column("label", overflow="fold")
    table.add_column("seed", justify="right", no_wrap=True)
    for place in places:
        table.add_column(place, no_wrap=True)
    table.add_column("state", no_wrap=True)
    for member, standing in standings:
        texts = [member.label, str(member.seed), *(getattr(member, place) for place in places)]
        state = Text(standing.state, style=COLOURS.get(standing.state, ""))
        table.add_row(*map(Text, texts), state)
    out.print(table)
    counts = Counter(standing.state for _, standing in standings)
    parts = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    soft = not out.is_terminal
    out.print(f"{name}: {_runs(len(standings))}: {parts}", markup=False, soft_wrap=soft)
    all_done = counts["done"] == len(standings)
    end = "nothing is left to run" if all_done else "run it without --dry-run to start"
    out.print(f"in {folder}; {end}", markup=False, soft_wrap=soft)


def _fitting(members: Sequence[Member], width: int) -> tuple[str, ...]:
    """The columns ``row`` and ``column``, if the labels, which repeat them, leave room."""
    words = [("label", "row", "column"), *((m.label, m.row, m.column) for m in members)]
    taken = sum(max(map(len, column)) for column in zip(*words, strict=True))
    return ("row", "column") if taken + _SEED_AND_STATE <= width else ()


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    Example:
        >>> clock(3725.4)
        '1:02:05'
    """
    return str(timedelta(seconds=round(seconds)))
