"""The progress of a sweep, according to its folder alone."""

from __future__ import annotations

import contextlib
import datetime
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_text
from medldr.folders.standing import AT_WORK, Standing, State, standing_of
from medldr.folders.sweep_record import Member, SweepFolder, read_sweep


@dataclass(frozen=True)
class MemberStatus:
    """A member, its state and its progress.

    Attributes:
        member: Its name and place.
        standing: Its state.
        position: How far a running or interrupted one is, such as ``epoch 3 of 12``.
        seconds: Time spent on it so far.
    """

    member: Member
    standing: Standing
    position: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class SweepStatus:
    """The progress of a sweep.

    Attributes:
        name: Name of the sweep.
        folder: Its folder.
        members: One entry per member, in their order.
        left_s: Expected seconds until the last one ends, if as many run as now; None: unknown.
        overrides: ``KEY=VALUE`` texts it was started with.
        following: How many runs follow once settings are chosen.
    """

    name: str
    folder: Path
    members: tuple[MemberStatus, ...]
    left_s: float | None
    overrides: tuple[str, ...] = ()
    following: int = 0

    @property
    def counts(self) -> dict[State, int]:
        """The number of members in each state that occurs."""
        return count_states(self.members)


def count_states(members: Iterable[MemberStatus]) -> dict[State, int]:
    """The number of members in each state that occurs, from done to unreadable."""
    counts = Counter(entry.standing.state for entry in members)
    return {state: counts[state] for state in get_args(State) if counts[state]}


def status_of(folder: SweepFolder) -> SweepStatus:
    """The progress of a sweep.

    Raises:
        InputError: If the folder holds no sweep.
    """
    sweep = read_sweep(folder)
    if sweep is None:
        raise InputError(
            f"{folder.path} contains no sweep.json: give a folder that `medldr sweep FILE --out "
            "DIR` made"
        )
    members = tuple(_member_status(folder, member) for member in sweep.members)
    left = expected_left(members)
    return SweepStatus(sweep.name, folder.path, members, left, sweep.overrides, sweep.following)


def _member_status(folder: SweepFolder, member: Member) -> MemberStatus:
    standing = standing_of(folder, member.run)
    if standing.state in ("launched", "waiting", "unreadable"):
        return MemberStatus(member, standing)
    shown = standing.state in ("running", "interrupted", "failed")
    run = folder.run(member.run)
    position = position_of(run, folder.config(member.run)) if shown else ""
    return MemberStatus(member, standing, position, _seconds(standing))


def _seconds(standing: Standing) -> float:
    """Time spent on a run so far."""
    if standing.record is None:
        return 0.0
    times = standing.record.times
    seconds = times.seconds
    if standing.state == "running" and times.latest_start:
        began, zone = datetime.datetime.fromisoformat(times.latest_start), datetime.UTC
        began = began if began.tzinfo else began.replace(tzinfo=zone)
        seconds += (datetime.datetime.now(zone) - began).total_seconds()
    return max(seconds, 0.0)


def position_of(run: RunFolder, config: Path) -> str:
    """The position of a run at its last evaluation; empty before the first one."""
    row = _last_row(run.metrics)
    if row is None:
        return ""
    length: dict[str, Any] = {}
    path = run.config if run.config.exists() else config
    with contextlib.suppress(InputError):  # damaged: the total length is unknown
        if path.exists():
            length = read_yaml(path).values.get("training") or {}
    unit = "step" if length.get("steps") else "epoch"
    total = length.get(f"{unit}s")
    return f"{unit} {row.get(unit, '?')}" + (f" of {total}" if total else "")


def _last_row(path: Path) -> dict[str, Any] | None:
    try:
        lines = read_text(path, "replace").splitlines()
    except InputError:
        return None
    for line in reversed(lines):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:  # the last line may be half written right now
            continue
        return row if isinstance(row, dict) else None
    return None


def expected_left(members: Sequence[MemberStatus]) -> float | None:
    """Seconds until the last member ends, if as many run as now; None while none has finished.

    The expected duration of a member is the mean of the finished members with its label, or of all
    finished members if there are none. Failed and unreadable members do not count.
    """
    done = [entry for entry in members if entry.standing.state == "done"]
    unfinished = [
        entry for entry in members if entry.standing.state in AT_WORK or entry.standing.resumes
    ]
    if not unfinished:
        return 0.0
    if not done:
        return None
    of_all = fmean(entry.seconds for entry in done)
    left = 0.0
    for entry in unfinished:
        same = [other.seconds for other in done if other.member.label == entry.member.label]
        left += max(0.0, (fmean(same) if same else of_all) - entry.seconds)
    running = sum(entry.standing.state in AT_WORK for entry in members)
    return left / max(1, running)
