"""All numbers of a sweep as one tidy table: a line per run, rule, part of the data and metric.

The tables and `report.csv` take held-out domains and selection rules from it. A further rule's mean
and standard deviation are over the seeds of `evaluation.json`; it has no interval of its own.
Means and deviations are taken with `statistics`, whose sums are exact, so a number does not depend
on the order of its runs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from medldr.config.method import row_titles
from medldr.config.sections import SWAD_TITLES, dataset_name, held_out, section, swad_form
from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.sweep_record import JOINT
from medldr.reporting.published.numbers import domain_names, same_domain
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Entry, Study, printed_titles

if TYPE_CHECKING:
    from pandas import DataFrame


COLUMNS = (
    "run", "seed", "row", "column", "method", "dataset", "held_out", "setting", "shown", "rule",
    "reported", "oracle", "split", "part", "domain", "metric", "value", "n",
)  # fmt: skip
"""
``row`` and ``column`` are the printed ones; ``method`` is the row without the domains held out,
which ``held_out`` names. ``shown``: whether the main tables show its ``setting``. ``reported``:
whether ``rule`` is the one that the run reports. A line without ``part`` and ``domain`` is of the
whole split. ``value`` is NaN where a number is undefined, and so it is on the one line, without a
metric, of a rule by which the run was not evaluated. ``n`` counts items.
"""


@functools.lru_cache(maxsize=1)  # several tables of one report ask for it
def score_frame(study: Study) -> DataFrame:
    """The table of a sweep; its columns are in `COLUMNS`."""
    from pandas import DataFrame

    # Where both name a method, the name is that of the main tables.
    held = (*held_runs(study, study.every), *held_runs(study, study.entries))
    named = {run.entry.member.run: run.row for run in held}
    shown = {entry.member.run for entry in study.entries}
    lines: list[tuple[Any, ...]] = []
    for entry in study.every:
        if entry.files is None:
            continue
        member = entry.member
        head = (
            member.run, member.seed, member.row, member.column, named.get(member.run, member.row),
            dataset_name(entry.config, entry.files.facts), " + ".join(held_out(entry.config)),
            JOINT.join(entry.setting), member.run in shown,
        )  # fmt: skip
        lines += [(*head, *line) for line in _lines(entry.files)]
    return DataFrame(lines, columns=list(COLUMNS)).astype({"value": float})


def _lines(files: RunFiles) -> Iterator[tuple[Any, ...]]:
    """Every number of a run, by the rule that chose its weights."""
    if not files.by_rule and files.evaluation is not None:  # no rule is recorded
        yield from (("", True, False, *place) for place in _numbers(files.evaluation))
    for number, (rule, (chosen, evaluation)) in enumerate(files.by_rule.items()):
        head = (rule, number == 0, chosen.oracle)
        nothing = [("", "", "", "", None, None)]
        numbers = nothing if evaluation is None else _numbers(evaluation)
        yield from ((*head, *place) for place in numbers)


def _numbers(evaluation: EvaluationRecord) -> Iterator[tuple[Any, ...]]:
    for row in evaluation.scores.rows:
        if not (row.class_ or row.group or row.subgroup):
            yield row.split, row.part, row.domain, row.metric, row.value, row.n


class RuleMean(NamedTuple):
    """One rule of one row of a column.

    Attributes:
        row: As printed.
        rule: Its name.
        estimate: Over the runs; its mean is None where any has no number.
        scored: Number of evaluated runs.
        reported: Whether it is the rule that the runs report.
        oracle: Whether it read the test split.
    """

    row: str
    rule: str
    estimate: Estimate
    scored: int
    reported: bool
    oracle: bool


def rule_means(study: Study, column: str, metric: str, split: str) -> Iterator[RuleMean]:
    """Every rule of every row that has more than one, in the order of the rows."""
    there = (entry.files for entry in study.of(column=column))
    if not any(files is not None and len(files.by_rule) > 1 for files in there):
        return  # most sweeps: their numbers need no frame, and so no pandas
    lines = score_frame(study)
    lines = lines[lines.shown & (lines.column == column) & (lines.rule != "")]
    whole = (lines.split == split) & (lines.part == "") & (lines.domain == "")
    numbers = lines[whole & (lines.metric == metric)].groupby(["row", "rule"]).value
    values = {place: of.dropna().tolist() for place, of in numbers}
    rules = lines.groupby(["row", "rule"], sort=False).agg(
        {"run": "nunique", "reported": "any", "oracle": "any"}
    )
    by_row = {row: of.droplevel("row") for row, of in rules.groupby(level="row")}
    for row in study.rows:
        of_row = by_row.get(row, ())
        for rule, runs, reported, oracle in of_row.itertuples(name=None) if len(of_row) > 1 else ():
            found = values.get((row, rule), [])
            estimate = spread(found) if len(found) == runs else Estimate(n=runs)
            yield RuleMean(row, rule, estimate, len(found), reported, oracle)


_AXES: Final = ("held_out", "data")
"""Axes, without their section, whose values say which domain was held out."""


class HeldRun(NamedTuple):
    """One run that held domains out.

    Attributes:
        row: The method, as printed.
        dataset: The data set.
        domains: What it held out.
        entry: The run.
    """

    row: str
    dataset: str
    domains: tuple[str, ...]
    entry: Entry


def held_runs(study: Study, entries: Sequence[Entry]) -> list[HeldRun]:
    """Runs that held domains out, in the order of the sweep.

    A run without any file is known by another seed of its label, and the name of its data, which
    is recorded once they are read, by another run on them.
    """
    known = {e.member.label: e.config for e in study.every if e.config}
    facts_of = {
        _data_place(e.config): e.files.facts
        for e in study.every
        if e.files is not None and section(e.files.facts, "data").get("name")
    }
    places = []
    for entry in entries:
        config = entry.config or known.get(entry.member.label, {})
        facts = facts_of.get(_data_place(config), {})
        row, domains = entry.member.row, held_out(config)
        places.append(HeldRun(row, dataset_name(config, facts), domains, entry))
    rows = _methods(study, places)
    return [run._replace(row=rows[run.row, run.domains]) for run in places if run.domains]


def _data_place(config: Mapping[str, Any]) -> tuple[str, ...]:
    """What says which data a run reads, however it divides them."""
    data = section(config, "data")
    return tuple(str(data.get(key)) for key in ("name", "set", "dataset", "flag", "file", "root"))


def set_domains(dataset: str, entries: Iterable[Entry]) -> list[str]:
    """All domains of a data set, as a run of it recorded them, or as published tables have them."""
    for entry in entries:
        record = None if entry.files is None else entry.files.record
        if record is not None and record.spec is not None and record.spec.domains:
            return list(record.spec.domains)
    return domain_names(dataset)


def domain_of(names: Iterable[str], wanted: str) -> str | None:
    """The name among these that means a domain, however it is written; None if none does."""
    return next((name for name in names if same_domain(name, wanted)), None)


def _methods(study: Study, places: Sequence[HeldRun]) -> dict[tuple[str, tuple[str, ...]], str]:
    """Printed row and held-out domains to the row without what says these domains."""
    stripped: dict[tuple[str, tuple[str, ...]], str] = {}
    names: dict[str, list[str]] = {}
    for row, _, domains, entry in places:
        axes = entry.member.row_values
        kept = [value for axis, value in axes.items() if axis.rpartition(".")[2] not in _AXES]
        values = [_without(value, domains) for value in kept or axes.values()]
        stripped[row, domains] = JOINT.join(values)
        names[JOINT.join(values)] = values
    oracles = {name for (row, _), name in stripped.items() if study.oracle(row)}
    titles = printed_titles(names, {**row_titles(), **study.layout.titles}, oracles)
    forms: dict[str, set[str]] = {}
    for run in places:
        if run.entry.config:
            name = stripped[run.row, run.domains]
            forms.setdefault(name, set()).add(swad_form(run.entry.config))
    for name, title in titles.items():
        # A method whose runs are all missing is averaged as the others are.
        form, *others = forms.get(name) or set().union(*forms.values()) or {""}
        if form and not others and "swad" not in title.lower():
            titles[name] = f"{title} + {SWAD_TITLES[form]}"
    return {place: titles[name] for place, name in stripped.items()}


def _without(name: str, domains: Sequence[str]) -> str:
    """A label without the words that name the held-out domains.

    Example:
        >>> _without("erm_held_out-photo", ["photo"]), _without("photo_erm", ["photo"])
        ('erm', 'erm')
        >>> _without("photo", ["photo"])
        'photo'
    """
    if not domains:
        return name
    words = "-".join(re.escape(domain) for domain in domains)
    left = re.sub(rf"(^|_)(held_out-)?{words}(?=_|$)", "", name).strip("_")
    return left or name
