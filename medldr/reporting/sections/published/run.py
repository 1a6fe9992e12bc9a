"""One run beside published numbers: of the test split, or of the domain that it held out."""

from __future__ import annotations

from medldr.metrics import measure
from medldr.reporting.published.match import Ours, by_source
from medldr.reporting.published.numbers import METRICS, same_domain
from medldr.reporting.read.describe import held_out
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.target_parts import target_value
from medldr.reporting.sections.published.cells import (
    explain_spreads,
    number_cell,
    protocol_cell,
    published_cell,
    who,
)
from medldr.reporting.sections.published.comparison import OwnRow, test_split_table
from medldr.reporting.table import Cell, Estimate, Row, Table


def run_published(files: RunFiles) -> Table | None:
    """A run's numbers on the test split beside the published ones.

    Returns:
        None where it has none there, or none were published.
    """
    test = None if files.evaluation is None else files.evaluation.splits.get("test")
    if test is None:
        return None
    numbers = {key: Estimate.of(test.metrics[key]) for key in METRICS if key in test.metrics}
    whole = OwnRow("This run", Ours.of(files), numbers)
    return (test_split_table([whole]) if test.metrics else None) or _held_out(files)


def _held_out(files: RunFiles) -> Table | None:
    """Accuracy on target_in with the published numbers of the run's method on that domain.

    Returns:
        None unless it held out one domain, of which somebody published a number of its method.
    """
    domains, ours = held_out(files.config), Ours.of(files)
    if len(domains) != 1:
        return None
    table = Table(
        f"Ours and published, {domains[0]} held out, on target_in",
        ["Method", "Protocol", measure("accuracy").heading],
        texts=(1,),
    )
    own = number_cell("accuracy", target_value(files.evaluation, "target_in", "accuracy"))
    table.rows.append(Row("This run", [Cell(ours.protocol or "none"), own], style="reference"))
    for entries in by_source(ours.dataset, ours.method):
        entry = next((e for e in entries if same_domain(e.domain, domains[0])), None)
        if entry is not None:
            first = protocol_cell(table, ours, entry)
            table.rows.append(Row(who(entry), [first, published_cell(table, entry, first.style)]))
    explain_spreads(table)
    return table if len(table.rows) > 1 else None
