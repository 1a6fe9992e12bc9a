"""From a sweep file to its runs, each at its place in the table, and to what the folder records.

Nothing here reads a run folder or starts anything.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from medldr.config import RunConfig, run_name
from medldr.config.load import refusal
from medldr.config.sections import MODIFIED, dataset_name
from medldr.errors import InputError, did_you_mean, some
from medldr.evaluation.setting_choice import are_pairs, method_and_setting
from medldr.folders.choices_record import Choices
from medldr.folders.sweep_record import DATA, FOLD, JOINT, Layout, Member, Sweep, joined
from medldr.sweeps.plan.combinations import Case, Checked, cases, check_cases, replaced_keys
from medldr.sweeps.plan.file import SweepFile
from medldr.sweeps.plan.table import known_names, last_word, methods, side_values

Place = tuple[Mapping[str, str], Mapping[str, str]]
"""Row and column of a case in the table: the name of its value on each axis, by axis."""


@dataclass(frozen=True)
class Planned:
    """A member and what it will run.

    Attributes:
        member: Its name and its place in the table.
        config: Its configuration, checked.
    """

    member: Member
    config: RunConfig


def expand(sweep: SweepFile, out: Path | str, choices: Choices = ()) -> list[Planned]:
    """All runs of a sweep, in the order in which they start.

    The first seed of everything comes first, and in a random search the first draw of everything,
    which completes a whole table early; a run that waits for another comes after it. Each
    combination is checked once, however many seeds there are. A draw that repeats an earlier one of
    its method, as a few choices make likely, is left out.

    Args:
        sweep: The sweep.
        out: Its folder, where runs that start from other runs find these.
        choices: What its search chose; each is trained with fresh seeds, after all others.

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
    replaced = list(dict.fromkeys(replaced_keys(sweep)))
    if replaced:
        raise refusal(f"the sweep {sweep.source}", replaced)
    folder = Path(os.path.abspath(Path(out).expanduser()))
    every = cases(sweep)
    combined = check_cases(sweep, every, folder, sweep.seeds[0])
    places = [_place(checked, sweep) for checked in combined]
    problems = [*_shared_cells(combined, places), *_titles_of_nothing(sweep, places)]
    planned: list[Planned] = []
    for seed in sweep.seeds:
        if sweep.search is not None and sweep.search.per_seed and seed != sweep.seeds[0]:
            combined = check_cases(sweep, every, folder, seed)
        runs: dict[str, str] = {}  # by label
        labels: dict[str, list[str]] = {}  # by hash
        drawn: dict[tuple[str, str], str] = {}  # label of a method's first draw, by hash
        for checked, (row, column) in zip(combined, places, strict=True):
            case = checked.case
            before: tuple[str, ...] = () if case.before is None else (runs[case.before],)
            started = folder / before[0] if checked.starts_from_before else None
            config = _seeded(checked.config, seed, started)
            name = run_name(config)
            digits = name.rsplit("-", 2)[1]  # its hash, which takes long to compute
            if case.draw is not None:
                first = drawn.setdefault((case.origin, digits), case.label)
                if first != case.label:
                    runs[case.label] = runs[first]  # what waits for it waits for that one
                    continue
            runs[case.label] = name
            labels.setdefault(digits, []).append(case.label)
            member = Member(
                name, case.label, seed, joined(row), joined(column),
                before, row, column, checked.drawn,
            )  # fmt: skip
            planned.append(Planned(member, config))
        if seed == sweep.seeds[0]:
            problems += [
                f"{' and '.join(named)} are the same run ({digits}): where data lies (data.root) "
                "and what computes (machine) make no other. Leave one out"
                for digits, named in labels.items()
                if len(named) > 1
            ]
    if problems:
        raise refusal(f"the sweep {sweep.source}", problems)
    again = (_again(planned, choices, seed, folder) for seed in sweep.fresh_seeds)
    return [*planned, *itertools.chain.from_iterable(again)]


def _again(
    planned: Sequence[Planned], choices: Choices, seed: int, folder: Path
) -> Iterator[Planned]:
    """The chosen runs, and those that they start from, with another seed."""
    members = {entry.member.run: entry.member for entry in planned}
    wanted = {r for c in choices for r in c.chosen if r in members and members[r].seed == c.seed}
    for run in reversed(members):  # what a run waits for stands before it
        wanted.update(members[run].after if run in wanted else ())
    names: dict[str, str] = {}
    for member, config in ((e.member, e.config) for e in planned if e.member.run in wanted):
        after = tuple(names[run] for run in member.after)
        follows = bool(after) and config.training.init_from == folder / member.after[0]
        config = _seeded(config, seed, folder / after[0] if follows else None)
        names[member.run] = run_name(config)
        yield Planned(replace(member, run=names[member.run], seed=seed, after=after), config)


def choosing(planned: Sequence[Planned], layout: Layout) -> dict[tuple[str, str], list[Member]]:
    """The runs that a setting is chosen from, by row and column; folds of a method are together.

    Neither fresh seeds choose, nor runs that held out two domains each of which others held out.
    """
    cells: dict[tuple[str, str], list[Member]] = {}
    pairs = are_pairs([tuple(getattr(entry.config.data, "held_out", ())) for entry in planned])
    for pair, member in zip(pairs, (entry.member for entry in planned), strict=True):
        if not pair and member.seed not in layout.fresh_seeds:
            values, _ = method_and_setting(member.row_values, (*layout.search, FOLD))
            cells.setdefault((joined(values), member.column), []).append(member)
    return cells


def as_record(sweep: SweepFile, planned: Sequence[Planned], *, chosen: bool = False) -> Sweep:
    """What the folder of a sweep records about it.

    Args:
        sweep: The sweep.
        planned: Everything that `expand` returned, including what is not started this time.
        chosen: Whether its settings are chosen, so that no further runs follow.

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
    table = sweep.table
    titles = {**table.titles}
    for side in filter(None, (methods(table), table.columns)):
        for parts in side_values(side, sweep.names):
            name = JOINT.join(parts)
            if name not in titles and any(part in titles for part in parts):
                titles[name] = JOINT.join(titles.get(part, part) for part in parts)
    layout = Layout(
        title=sweep.title,
        rows=JOINT.join(map(last_word, methods(table))),
        columns=JOINT.join(map(last_word, table.columns or ())) or DATA,
        titles=titles,
        **table.model_dump(
            include={"reference", "controls", "contrasts", "verdict", "metrics", "remark"}
        ),
        search=tuple(key for key in table.rows or () if key in table.search),
        search_per_seed=sweep.search is not None and sweep.search.per_seed,
        fresh_seeds=sweep.fresh_seeds,
        as_published=_follows_protocol(sweep, planned),
    )
    members = tuple(entry.member for entry in planned)
    folds = [{m.row_values.get(FOLD) for m in of} for of in choosing(planned, layout).values()]
    following = 0 if chosen else len(sweep.fresh_seeds) * sum(map(len, folds))
    return Sweep(sweep.name, layout, members, sweep.overrides, following)


def _follows_protocol(sweep: SweepFile, planned: Sequence[Planned]) -> bool:
    """Whether the search is that of the protocol of its runs."""
    space = {} if sweep.search is None else sweep.search.space
    searched = {variable.protocol for of_key in space.values() for variable in of_key} - {""}
    return any(str(entry.config.protocol).removesuffix(MODIFIED) in searched for entry in planned)


def select(planned: Sequence[Planned], pattern: str) -> list[Planned]:
    """The runs that match a pattern, and those that they wait for, in their order.

    Args:
        planned: What `expand` returned.
        pattern: A shell pattern (``derma*_erm``) for a label, ``<label>-s<seed>`` or the name of a
            run; without ``*``, ``?`` and ``[`` a part of ``<label>-s<seed>`` or a run's name.

    Raises:
        InputError: If it matches none, with the nearest label, or is empty.
    """
    wild = any(sign in pattern for sign in "*?[")
    wanted = set()
    for entry in planned:
        member = entry.member
        texts = (member.label, f"{member.label}-s{member.seed}", member.run)
        if any(fnmatchcase(t, pattern) if wild else pattern and pattern in t for t in texts):
            wanted.add(member.run)
    if not wanted:
        labels = list(dict.fromkeys(entry.member.label for entry in planned))
        near = did_you_mean(pattern.strip("*"), labels)
        raise InputError(
            f"--only={pattern!r} matches no run of this sweep.{near} Labels: {some(labels)}"
        )
    for entry in reversed(planned):  # what a run waits for stands before it
        if entry.member.run in wanted:
            wanted.update(entry.member.after)
    return [entry for entry in planned if entry.member.run in wanted]


def _seeded(config: RunConfig, seed: int, started: Path | None) -> RunConfig:
    """A configuration with its seed and the run that it starts from, if it does from one."""
    changed: dict[str, object] = {"seed": seed}
    if started is not None:
        changed["training"] = config.training.model_copy(update={"init_from": started})
    return config.model_copy(update=changed)


def _place(checked: Checked, sweep: SweepFile) -> Place:
    row, column = (
        {key: checked.case.names[key] for key in keys or ()}
        for keys in (sweep.table.rows, sweep.table.columns)
    )
    if not column:
        column = {DATA: dataset_name(checked.config.model_dump(mode="json"), {})}
    return row, column


def _shared_cells(combined: Sequence[Checked], places: Sequence[Place]) -> Iterator[str]:
    """One line for cases that share a cell of the table, naming the axes that tell them apart."""
    owners: dict[tuple[str, str], Case] = {}
    reported = set()
    for checked, place in zip(combined, places, strict=True):
        row, column, two = *map(joined, place), checked.case
        one = owners.setdefault((row, column), two)
        keys = tuple(key for key in two.names if one.names[key] != two.names[key])
        if one is not two and keys not in reported:
            reported.add(keys)
            yield (
                f"{one.label} and {two.label} share one cell of the table, row {row!r} and "
                f"column {column!r}: add {' or '.join(keys)} to table.rows or table.columns"
            )


def _titles_of_nothing(sweep: SweepFile, places: Sequence[Place]) -> Iterator[str]:
    if sweep.overrides and not sweep.table.columns:
        return  # data sets that only the unchanged file has may have titles; unknown here
    names = known_names(sweep.table, sweep.names) | {joined(column) for _, column in places}
    for name in sweep.table.titles:
        if name not in names and name not in sweep.gone:
            near = did_you_mean(name, sorted(names))
            yield f"table.titles.{name} ({sweep.source}): no row or column has this name.{near}"
