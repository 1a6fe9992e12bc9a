"""All numbers of a sweep as one tidy table: a line per run, rule, part of the data and metric.

The tables and `report.csv` take held-out domains and selection rules from it.
Means and deviations are taken with `statistics`, whose sums are exact, so a number does not depend
on the order of its runs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from medldr.config.sections import dataset_name, held_out
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.sweep_record import JOINT
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study
from medldr.reporting.results.held_runs import held_runs

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
