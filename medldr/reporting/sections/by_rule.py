"""The section on selection rules: what the weights of each rule reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.frame import RuleMean, rule_means
from medldr.reporting.sections.rows import method_row
from medldr.reporting.table import Cell, Table
from medldr.reporting.wording import split_name

REPORTED = "The rule that the run reports; other tables use it unless they name another."


def by_rule(
    study: Study, columns: Sequence[Column], metrics: Sequence[str], splits: Sequence[str]
) -> Section | None:
    """A table per column and metric, of the first split; None where runs have a single rule."""
    places = [(c.name, m, split) for c in columns for m in metrics for split in splits[:1]]
    tables = [table for place in places if (table := rule_table(study, *place)) is not None]
    oracle = any("(oracle)" in heading for table in tables for heading in table.columns)
    return section("sweep", "rules", *tables, oracle=sentence("by_oracle") if oracle else "")


def rule_table(study: Study, column: str, metric: str, split: str) -> Table | None:
    """Rows down and rules across; None where no row has more than one rule."""
    found = list(rule_means(study, column, metric, split))
    rules = {mean.rule: mean.oracle for mean in found}
    if not rules:
        return None
    where = split_name(split).lower()
    table = Table(
        f"{column}: {metric_facts(metric).heading} by selection rule, {where}", ["Method"]
    )
    table.columns += [f"{rule} (oracle)" if oracle else rule for rule, oracle in rules.items()]
    by_place = {(mean.row, mean.rule): mean for mean in found}
    for row in dict.fromkeys(mean.row for mean in found):
        cells = [_cell(table, metric, by_place.get((row, rule))) for rule in rules]
        table.rows.append(method_row(row, cells, control=row in study.layout.controls))
    return table


def _cell(table: Table, metric: str, found: RuleMean | None) -> Cell:
    if found is None:
        return Cell()
    if found.estimate.mean is None:
        reason = f"evaluated and defined in {found.scored} of {found.estimate.n} runs"
        return table.number(metric, Estimate(reason=reason))
    mark = table.sign(REPORTED) if found.reported else ""
    return Cell(replace(found.estimate, se=None), metric_facts(metric), mark=mark)
