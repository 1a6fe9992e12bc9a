"""How the rows of a sweep were trained: a table, and footnotes where a row differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medldr.reporting.prose import words
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import RATE, Training, differences, training_of
from medldr.reporting.sections.rows import grouped, method_row
from medldr.reporting.table import DASH, Cell, Table

SPANS: Final = ("rate", "images", "steps")
BATCH: Final = ("training.batch_size", "training.batch_per_domain")
TUNED_BY: Final = {"rate": (RATE,), "images": BATCH, "steps": BATCH}
"""Keys that decide on a field of `Training`."""


def differing(study: Study, row: str, columns: Sequence[str]) -> list[str]:
    """How a row was trained differently from the reference; one note if all columns agree.

    What was drawn for both, and chosen on validation, is no difference: each is shown as tuned.
    """
    if row == study.reference:
        return []
    both = study.drawn(row) & study.drawn(study.reference)
    tuned = {field for field, keys in TUNED_BY.items() if both.intersection(keys)}
    pairs = []
    for column in columns:
        own, other = (training_of(study.files(name, column)) for name in (row, study.reference))
        if own is not None and other is not None:
            fields = [key for key in differences(own, other) if key not in tuned]
            text = ", ".join(_text(key, own, other) for key in fields)
            pairs.append((text, column))
    found = grouped(pairs)
    wheres = {
        text: "" if len(of) == len(pairs) else f"{', '.join(of)}: " for text, of in found.items()
    }
    return [
        f"{where}trained differently from {study.reference} (its value in parentheses): {text}."
        for text, where in wheres.items()
        if text
    ]


def _text(key: str, own: Training, other: Training) -> str:
    values = (getattr(own, key), getattr(other, key))
    return words("training")[key].format(*("none" if value == "" else value for value in values))


def training_table(study: Study, column: Column) -> Table | None:
    """Learning rate, images of a step, steps and sampler of each row; None without a run."""
    columns = ["Method", "Learning rate", "Images per step", "Steps", "Sampler"]
    table = Table(f"{column.name}: how each method was trained", columns, texts=(4,))
    for row in study.rows:
        runs = [training_of(entry.files) for entry in study.of(row, column.name)]
        found = [run for run in runs if run is not None]
        if found:
            cells = [_span([getattr(run, key) for run in found]) for key in SPANS]
            samplers = dict.fromkeys(run.sampler for run in found if run.sampler)
            cells.append(Cell(", ".join(samplers) or DASH))
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
