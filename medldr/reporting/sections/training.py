"""How the rows of a sweep were trained."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.config.sections import section
from medldr.reporting.read.run import rate_of
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.rows import method_row
from medldr.reporting.table import DASH, Cell, Table


def training_table(study: Study, column: Column) -> Table | None:
    """Learning rate, images of a step, steps and sampler of each row; None without a run."""
    columns = ["Method", "Learning rate", "Images per step", "Steps", "Sampler"]
    table = Table(f"{column.name}: how each method was trained", columns, texts=(4,))
    for row in study.rows:
        files = [entry.files for entry in study.of(row, column.name) if entry.files is not None]
        runs = [(each, each.record) for each in files if each.record is not None]
        if not runs:
            continue
        cells = [
            _span([rate_of(each) for each, _ in runs]),
            _span([record.batch_size for _, record in runs]),
            _span([record.steps for _, record in runs]),
        ]
        stated = (r.sampler or section(f.config, "training").get("sampler") for f, r in runs)
        cells.append(Cell(", ".join(dict.fromkeys(filter(None, stated))) or DASH))
        control, reference = row in study.layout.controls, row == study.reference
        table.rows.append(method_row(row, cells, control=control, reference=reference))
    return table if table.rows else None


def _span(values: Sequence[float | None]) -> Cell:
    """One number, or the span of those of several seeds."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Cell()
    ends = dict.fromkeys(f"{value:g}" for value in (known[0], known[-1]))
    return Cell(" to ".join(ends), order=float(known[0]))
