"""A sweep's numbers by selection rule: what each rule's weights reach, runs averaged over seeds.

The other tables of the report are of the rule that each run reports. A further rule's mean and
standard deviation are over the seeds of `evaluation.json`; it has no interval of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from medldr.evaluation.intervals.estimate import Estimate, spread
from medldr.reporting.read.study import Study
from medldr.reporting.results.frame import score_frame


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
