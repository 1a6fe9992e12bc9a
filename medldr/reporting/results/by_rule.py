"""A sweep's numbers by selection rule: what each rule's weights reach, runs averaged over seeds.

The other tables of the report are of the rule that each run reports. A further rule's mean and
standard deviation are over the seeds of `evaluation.json`; it has no interval of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.sweep import Parts, Section

REPORTED = "The rule that the run reports; all other tables are of it."


class RuleMean(NamedTuple):
    """One rule of one row of a column.

    Attributes:
        row: As printed.
        rule: Its name.
        values: One per run that was judged by it, in the order of the sweep.
        runs: Runs of the row that have the rule.
        reported: Whether it is the rule that the runs report.
        oracle: Whether it read the test split.
    """

    row: str
    rule: str
    values: tuple[float, ...]
    runs: int
    reported: bool
    oracle: bool

    @property
    def mean(self) -> float | None:
        """Over the runs; None where any has no number."""
        whole = self.values and len(self.values) == self.runs
        return statistics.fmean(self.values) if whole else None

    @property
    def sd(self) -> float | None:
        """Over the runs (ddof 1); None for a single one."""
        several = self.mean is not None and len(self.values) > 1
        return statistics.stdev(self.values) if several else None


def rule_means(study: Study, column: str, metric: str, split: str) -> Iterator[RuleMean]:
    """Every rule of every row that has more than one, in the order of the rows."""
    for row in study.rows:
        sources = [e.source for e in study.of(row, column) if e.source is not None]
        rules = list(dict.fromkeys(rule for source in sources for rule in source.by_rule))
        if len(rules) < 2:
            continue
        for rule in rules:
            found = [source.by_rule[rule] for source in sources if rule in source.by_rule]
            numbers = [
                ((judged or {}).get("splits") or {}).get(split, {}).get("metrics", {}).get(metric)
                for _, judged in found
            ]
            yield RuleMean(
                row=row,
                rule=rule,
                values=tuple(n["value"] for n in numbers if n and n["value"] is not None),
                runs=len(found),
                reported=any(next(iter(source.by_rule)) == rule for source in sources),
                oracle=any(chosen.get("oracle") for chosen, _ in found),
            )


def rule_table(study: Study, column: Column, metric: str, split: str) -> Table | None:
    """Rows down and rules across; None where no row has more than one rule."""
    found = list(rule_means(study, column.name, metric, split))
    rules = {mean.rule: mean.oracle for mean in found}
    if not rules:
        return None
    where = SPLIT_TITLES.get(split, split).lower()
    table = Table(
        f"{column.name}: {measure(metric).heading} by selection rule, {where}",
        ["Method", *(f"{rule} (oracle)" if oracle else rule for rule, oracle in rules.items())],
    )
    by_place = {(mean.row, mean.rule): mean for mean in found}
    for row in dict.fromkeys(mean.row for mean in found):
        cells = [_cell(table, metric, by_place.get((row, rule))) for rule in rules]
        apart = row in study.layout.controls
        table.rows.append(Row(row, cells, ("control",) if apart else (), apart=apart))
    return table


def _cell(table: Table, metric: str, found: RuleMean | None) -> Cell:
    if found is None:
        return Cell("–")
    if found.mean is None:
        reason = f"judged or defined in {len(found.values)} of {found.runs} runs"
        return Cell("n/a", reason=reason, mark=table.sign(reason))
    known = measure(metric)
    spread = "" if found.sd is None else known.show(found.sd)
    count = f"n {found.runs}"
    return Cell(
        known.show(found.mean),
        extra=f"SD {spread}, {count}" if spread else count,
        value=found.mean,
        mark=table.sign(REPORTED) if found.reported else "",
        spread=spread,
        count=count,
    )


def rules(parts: Parts) -> Section:
    """A table per column and measure."""
    section = Section("rules", "By selection rule", "Rules")
    section.texts.append(
        "Several rules chose weights from each training. Means and standard deviations are over "
        "seeds."
    )
    section.tables = list(_tables(parts.study, parts.columns, parts.metrics, parts.splits))
    if any("(oracle)" in heading for table in section.tables for heading in table.columns):
        section.texts.append(
            "A number by a rule named oracle was chosen by looking at the test split and is an "
            "upper bound, not a measurement."
        )
    return section


def _tables(
    study: Study, columns: Sequence[Column], metrics: Sequence[str], splits: Sequence[str]
) -> Iterator[Table]:
    for column in columns:
        for metric in metrics:
            table = rule_table(study, column, metric, splits[0]) if splits else None
            if table is not None:
                yield table
