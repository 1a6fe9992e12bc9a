"""From a sweep file to its runs; nothing here reads a run folder or starts anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from medldr.config import RunConfig, run_hash, run_name
from medldr.config.load import refusal
from medldr.errors import InputError, did_you_mean
from medldr.folders.sweep_record import Member, Sweep
from medldr.sweeps.plan.cases import cases
from medldr.sweeps.plan.check_cases import Checked, check_cases
from medldr.sweeps.plan.layout import check_places, layout, place, same_runs
from medldr.sweeps.plan.parts import SweepFile


@dataclass(frozen=True)
class Planned:
    """A member and what it will run.

    Attributes:
        member: Its name and its place in the table.
        config: Its configuration, checked.
    """

    member: Member
    config: RunConfig


def expand(sweep: SweepFile, out: Path | str) -> list[Planned]:
    """All runs of a sweep, in the order in which they start.

    The first seed of everything comes first, and in a random search the first draw of everything,
    which completes a whole table early; a run that waits for another comes after it. Each
    combination is checked once, however many seeds there are. A draw that repeats an earlier one of
    its method, as a few choices make likely, is left out.

    Args:
        sweep: The sweep.
        out: Its folder, where runs that start from other runs find these.

    Raises:
        InputError: Naming every problem and the runs that have it; or runs that share a label or a
            cell of the table, or that are identical.

    Example:
        >>> from medldr.sweeps.plan.file import load_sweep
        >>> content = {
        ...     "common": {"extends": "run/retinamnist_erm"},
        ...     "axes": {"algorithm": ["erm", "latentdr_pool"], "training.lr": [0.01]},
        ...     "seeds": [0, 1],
        ... }
        >>> for planned in expand(load_sweep(content), "runs/mine"):
        ...     member = planned.member
        ...     print(member.label, member.seed, "|", member.row, "|", member.column)
        erm_lr-0.01 0 | erm, lr-0.01 | retinamnist
        latentdr_pool_lr-0.01 0 | latentdr_pool, lr-0.01 | retinamnist
        erm_lr-0.01 1 | erm, lr-0.01 | retinamnist
        latentdr_pool_lr-0.01 1 | latentdr_pool, lr-0.01 | retinamnist
    """
    folder = Path(os.path.abspath(Path(out).expanduser()))
    every = cases(sweep)
    found = check_cases(sweep, every, folder)
    places = [place(checked.case, checked.config, sweep) for checked in found]
    problems = check_places(sweep, found, places)
    planned: list[Planned] = []
    for seed in sweep.seeds:
        runs: dict[str, str] = {}
        hashes: list[tuple[str, str]] = []
        drawn: dict[tuple[str, str], str] = {}
        if sweep.search is not None and sweep.search.per_seed and seed != sweep.seeds[0]:
            found = check_cases(sweep, every, folder, seed)
        for checked, at in zip(found, places, strict=True):
            case = checked.case
            before = () if case.before is None else (runs[case.before],)
            config = _seeded(checked, seed, folder, before)
            digits = run_hash(config)
            if case.draw is not None:
                first = drawn.setdefault((case.origin, digits), case.label)
                if first != case.label:
                    runs[case.label] = runs[first]  # what waits for it waits for that one
                    continue
            runs[case.label] = run_name(config)
            hashes.append((case.label, digits))
            member = Member(
                runs[case.label], case.label, seed, *at.texts, before, *at, drawn=checked.drawn
            )
            planned.append(Planned(member, config))
        if seed == sweep.seeds[0]:
            problems += same_runs(hashes)
    if problems:
        raise refusal(f"the sweep {sweep.source}", problems)
    return planned


def as_record(sweep: SweepFile, planned: Sequence[Planned]) -> Sweep:
    """What the folder of a sweep records about it.

    Args:
        sweep: The sweep.
        planned: Everything that `expand` returned, including what is not started this time.

    Example:
        >>> from medldr.sweeps.plan.file import load_sweep
        >>> sweep = load_sweep({
        ...     "common": {"extends": "run/retinamnist_erm"},
        ...     "axes": {"algorithm": ["erm", "latentdr_pool"]},
        ...     "table": {"titles": {"erm": "ERM"}},
        ... })
        >>> record = as_record(sweep, expand(sweep, "runs/mine"))
        >>> record.layout.rows, record.layout.columns, record.layout.titles
        ('algorithm', 'data', {'erm': 'ERM'})
    """
    members = tuple(entry.member for entry in planned)
    return Sweep(sweep.name, layout(sweep), members, sweep.overrides)


def select(planned: Sequence[Planned], pattern: str) -> list[Planned]:
    """The runs that match a pattern, and those that they wait for, in their order.

    Args:
        planned: What `expand` returned.
        pattern: A shell pattern (``derma*_erm``) for a label, ``<label>-s<seed>`` or the name of a
            run; without ``*``, ``?`` and ``[`` a part of ``<label>-s<seed>`` or a run's name.

    Raises:
        InputError: If it matches none, with the nearest label, or is empty.
    """
    if not pattern:
        raise InputError("--only: the pattern is empty and would match every run. Leave --only out")
    wild = any(sign in pattern for sign in "*?[")
    wanted = set()
    for entry in planned:
        member = entry.member
        texts = (member.label, f"{member.label}-s{member.seed}", member.run)
        if any(fnmatchcase(text, pattern) if wild else pattern in text for text in texts):
            wanted.add(member.run)
    if not wanted:
        labels = list(dict.fromkeys(entry.member.label for entry in planned))
        near = did_you_mean(pattern.strip("*"), labels)
        raise InputError(
            f"--only {pattern!r} matches no run of this sweep.{near} Labels: {', '.join(labels)}"
        )
    waits = {entry.member.run: entry.member.after for entry in planned}
    open_ = list(wanted)
    while open_:
        for run in waits[open_.pop()]:
            if run not in wanted:
                wanted.add(run)
                open_.append(run)
    return [entry for entry in planned if entry.member.run in wanted]


def _seeded(checked: Checked, seed: int, folder: Path, before: tuple[str, ...]) -> RunConfig:
    """The configuration with its seed and the run that it starts from."""
    changed: dict[str, object] = {"seed": seed}
    if checked.starts_from_before:
        changed["training"] = checked.config.training.model_copy(
            update={"init_from": folder / before[0]}
        )
    return checked.config.model_copy(update=changed)
