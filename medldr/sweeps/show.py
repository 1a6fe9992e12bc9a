"""Sweeps on the terminal: how far one is, and what it would start; readable at 80 columns.

An error that many runs share is shown once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from rich.table import Column, Table
from rich.text import Text

from medldr.console import Console
from medldr.data.counting import some
from medldr.folders.standing import AT_WORK, State
from medldr.folders.sweep_record import Member
from medldr.sweeps.status import MemberStatus, SweepStatus, count_states

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
_NAMES: Final = 3
_ERRORS: Final = 5


def print_status(status: SweepStatus, out: Console | None = None) -> None:
    """Print how far a sweep is: counts, a row per label, what went wrong, the time left.

    Args:
        status: From `status_of`.
        out: Where to print; unset: standard output.
    """
    from medldr.reporting.writers.terminal import console

    out = out or console()
    soft = not out.is_terminal
    out.print(Text(_counted(status.name, status.members, status.following)), soft_wrap=soft)
    if status.overrides:
        out.print(Text(f"started with {' '.join(status.overrides)}"), soft_wrap=soft)
    table = _table(
        Column("label", overflow="fold", min_width=12),
        *(Column(head, no_wrap=True) for head in ("runs", "now")),
        Column("mean time", justify="right", no_wrap=True),
    )
    for label in dict.fromkeys(entry.member.label for entry in status.members):
        entries = [entry for entry in status.members if entry.member.label == label]
        table.add_row(Text(label), *_row(entries))
    out.print(table)
    for text in _problems(status.members):
        out.print(text, soft_wrap=soft)
    out.print(time_line(status), markup=False, soft_wrap=soft)


def plain_status(status: SweepStatus) -> dict[str, Any]:
    """How far a sweep is, as plain values: the counts, and every run with its state."""
    runs = [
        {
            "run": entry.member.run,
            "label": entry.member.label,
            "seed": entry.member.seed,
            "state": entry.standing.state,
            "position": entry.position,
            "seconds": entry.seconds,
            "error": entry.standing.error,
        }
        for entry in status.members
    ]
    about = {"name": status.name, "folder": str(status.folder), "seconds_left": status.left_s}
    return {**about, "counts": status.counts, "following": status.following, "runs": runs}


def _table(*columns: Column) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0))


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


def _counted(name: str, members: Sequence[MemberStatus], following: int) -> str:
    """Members in each state, as text: ``demo: 5 runs: 3 done, 1 running, 1 waiting``."""
    counts = count_states(members)
    parts = ", ".join(f"{count} {state}" for state, count in counts.items())
    text = f"{name}: {count_runs(len(members))}: {parts}"
    more = f"{count_runs(following)} with fresh seeds follow once every draw is done or failed"
    return f"{text}; {more}" if following else text


def time_line(status: SweepStatus) -> str:
    """The expected time left, as a sentence."""
    running = sum(status.counts.get(state, 0) for state in AT_WORK)
    if status.left_s == 0 and not running:
        return "start the sweep again to go on" if status.following else "nothing is left to run"
    if status.left_s is None:
        return "expected time left: unknown until a first run is done"
    now = f"{running} runs at once, as now" if running > 1 else "one run at a time"
    return f"expected time left: {clock(status.left_s)} (assuming {now})"


def _row(entries: Sequence[MemberStatus]) -> tuple[Text, Text, str]:
    """Counts of the runs of a label, how far each is, and the mean time of those that are done."""
    counts = Text("\n").join(
        Text(f"{count} {state}", style=COLOURS.get(state, ""))
        for state, count in count_states(entries).items()
    )
    now = Text("\n".join(filter(None, map(_position, entries))))
    spent = [entry.seconds for entry in entries if entry.standing.state == "done"]
    return counts, now, clock(sum(spent) / len(spent)) if spent else ""


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
    members: Sequence[MemberStatus],
    following: int = 0,
    out: Console | None = None,
) -> None:
    """Print the members of a sweep and the state of each.

    Args:
        name: Name of the sweep.
        folder: Its folder.
        members: Members, in the order in which they start.
        following: How many more follow once settings are chosen.
        out: Where to print; unset: standard output.
    """
    from medldr.reporting.writers.terminal import console

    out = out or console()
    places = _fitting([entry.member for entry in members], out.width)
    table = _table(
        Column("label", overflow="fold"),
        Column("seed", justify="right", no_wrap=True),
        *(Column(head, no_wrap=True) for head in (*places, "state")),
    )
    for entry in members:
        member, state = entry.member, entry.standing.state
        texts = [member.label, str(member.seed), *(getattr(member, place) for place in places)]
        table.add_row(*map(Text, texts), Text(state, style=COLOURS.get(state, "")))
    out.print(table)
    soft = not out.is_terminal
    out.print(_counted(name, members, following), markup=False, soft_wrap=soft)
    all_done = not following and all(entry.standing.state == "done" for entry in members)
    end = "nothing is left to run" if all_done else "run it without --dry-run to start"
    out.print(f"in {folder}; {end}", markup=False, soft_wrap=soft)


def _fitting(members: Sequence[Member], width: int) -> tuple[str, ...]:
    """The columns ``row`` and ``column``, if the labels, which repeat them, leave room."""
    words = [("label", "row", "column"), *((m.label, m.row, m.column) for m in members)]
    taken = sum(max(map(len, column)) for column in zip(*words, strict=True))
    return ("row", "column") if taken + _SEED_AND_STATE <= width else ()


def group_same_errors(errors: Mapping[str, str]) -> dict[str, list[str]]:
    """Run names by error, in the order in which each error first occurs.

    Args:
        errors: The error of each run, by name.

    Example:
        >>> group_same_errors({"a": "no data", "b": "boo", "c": "no data"})
        {'no data': ['a', 'c'], 'boo': ['b']}
    """
    groups: dict[str, list[str]] = {}
    for name, error in errors.items():
        groups.setdefault(error, []).append(name)
    return groups


def some_runs(names: Sequence[str]) -> str:
    """The number of runs and the names of the first few.

    Example:
        >>> some_runs(["a", "b", "c", "d", "e"])
        '5 runs: a, b, c and 2 more'
    """
    return f"{count_runs(len(names))}: {some(names, _NAMES)}"


def error_lines(errors: Mapping[str, str]) -> list[str]:
    r"""One line for an error of a single run; for a shared error, a second line with the names.

    At most five errors are shown.

    Args:
        errors: The error of each run, by name.

    Example:
        >>> error_lines({"a": "no data", "b": "boo", "c": "no data"})
        ['no data', '  2 runs: a, c', 'b: boo']
    """
    groups = group_same_errors(errors)
    lines: list[str] = []
    for error, names in list(groups.items())[:_ERRORS]:
        alone = len(names) == 1
        lines += [f"{names[0]}: {error}"] if alone else [error, f"  {some_runs(names)}"]
    if len(groups) > _ERRORS:
        lines.append(f"and {len(groups) - _ERRORS} more (`medldr sweep status` lists them all)")
    return lines


def count_runs(count: int) -> str:
    """``1 run``, ``2 runs``."""
    return "1 run" if count == 1 else f"{count} runs"


def clock(seconds: float) -> str:
    """Seconds as hours, minutes and seconds.

    Example:
        >>> clock(3725.4)
        '1:02:05'
    """
    return str(timedelta(seconds=round(seconds)))
