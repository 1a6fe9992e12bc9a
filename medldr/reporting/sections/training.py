"""How the rows of a sweep were trained: a table, and footnotes where a row differs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import Training, differences, training_of
from medldr.reporting.table import DASH, Cell, Row, Table

_WORDS: Final = {
    "protocol": "protocol {} ({})",
    "rate": "learning rate {:g} ({:g})",
    "images": "{} images a step ({})",
    "steps": "{} steps ({})",
    "sampler": "sampler {} ({})",
}


def differing(study: Study, row: str, columns: Sequence[str]) -> list[str]:
    """In what a row was trained differently from the reference; one note if all columns agree."""
    if row == study.reference:
        return []
    found: dict[str, list[str]] = {}
    known = 0
    for column in columns:
        own, other = (training_of(study.files(name, column)) for name in (row, study.reference))
        if own is None or other is None:
            continue
        known += 1
        text = ", ".join(_text(key, own, other) for key in differences(own, other))
        if text:
            found.setdefault(text, []).append(column)
    return [
        ("" if len(where) == known else f"{', '.join(where)}: ")
        + f"trained otherwise than {study.reference} (in brackets): {text}."
        for text, where in found.items()
    ]


def _text(key: str, own: Training, other: Training) -> str:
    values = (getattr(own, key), getattr(other, key))
    return _WORDS[key].format(*("none" if value == "" else value for value in values))


def training_table(study: Study, column: Column) -> Table | None:
    """Learning rate, images of a step, steps and sampler of each row; None without a run."""
    table = Table(
        f"{column.name}: how each row was trained",
        ["Method", "Learning rate", "Images a step", "Steps", "Sampler"],
        texts=(4,),
    )
    for row in study.rows:
        runs = (training_of(entry.files) for entry in study.of(row, column.name))
        found = [run for run in runs if run is not None]
        if found:
            reference, control = row == study.reference, row in study.layout.controls
            tags = [*(["reference"] if reference else []), *(["control"] if control else [])]
            table.rows.append(Row(row, _cells(found), tuple(tags), apart=control))
    return table if table.rows else None


def _cells(found: Sequence[Training]) -> list[Cell]:
    samplers = dict.fromkeys(run.sampler for run in found if run.sampler)
    return [
        _span(run.rate for run in found),
        _span(run.images for run in found),
        _span(run.steps for run in found),
        Cell(", ".join(samplers) or DASH),
    ]


def _span(values: Iterable[float | None]) -> Cell:
    """One number, or the span of those of several seeds."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return Cell()
    ends = dict.fromkeys(f"{value:g}" for value in (known[0], known[-1]))
    return Cell(" to ".join(ends), order=float(known[0]))
