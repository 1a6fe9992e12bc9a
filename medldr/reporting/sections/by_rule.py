"""The section on selection rules: what the weights of each rule reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.estimate import Estimate
from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.read.study import Study
from medldr.reporting.results.by_rule import RuleMean, rule_means
from medldr.reporting.results.comparisons import Column
from medldr.reporting.table import Cell, Row, Table

REPORTED = "The rule that the run reports; all other tables are of it."


def by_rule(
    study: Study, columns: Sequence[Column], metrics: Sequence[str], splits: Sequence[str]
) -> Section:
    """A table per column and metric, of the first split; empty where runs have a single rule."""
    section = Section("rules", "By selection rule", "Rules")
    tables = [
        table
        for column in columns
        for metric in metrics
        for split in splits[:1]
        if (table := rule_table(study, column.name, metric, split)) is not None
    ]
    if not tables:
        return section
    section.add(
        Paragraph(
            "Several rules chose weights from each training. Means and standard deviations are "
            "over seeds."
        )
    )
    if any("(oracle)" in heading for table in tables for heading in table.columns):
        section.add(
            Paragraph(
                "A number by a rule named oracle was chosen by looking at the test split and is an "
                "upper bound, not a measurement."
            )
        )
    section.add(*tables)
    return section


def rule_table(study: Study, column: str, metric: str, split: str) -> Table | None:
    """Rows down and rules across; None where no row has more than one rule."""
    found = list(rule_means(study, column, metric, split))
    rules = {mean.rule: mean.oracle for mean in found}
    if not rules:
        return None
    where = SPLIT_TITLES.get(split, split).lower()
    table = Table(
        f"{column}: {measure(metric).heading} by selection rule, {where}",
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
        return Cell()
    if found.estimate.mean is None:
        reason = f"judged or defined in {found.judged} of {found.estimate.n} runs"
        return table.number(metric, Estimate(reason=reason))
    mark = table.sign(REPORTED) if found.reported else ""
    return Cell(replace(found.estimate, se=None), measure(metric), mark=mark)
