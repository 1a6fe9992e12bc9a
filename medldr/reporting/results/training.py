"""How the rows of a sweep were trained, and in what a row differs from the reference.

A method may bring its own learning rate or sampler, which changes more than the method: the rate,
how many images a step sees, how many steps there are. A table that hides this compares two things
at once, so that every such difference is a footnote of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from medldr.config.protocol import MODIFIED
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.describe import section
from medldr.reporting.read.run import RunSource
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column

DASH = "–"


class Training(NamedTuple):
    """What a run was trained with; None where its files do not say.

    Attributes:
        rate: Learning rate used: the recipe's, times the algorithm's factor.
        images: Images of a step, over all processes.
        steps: Steps made.
        sampler: How batches were drawn.
        protocol: Protocol id, with ``+modified`` where a key that it pins was changed.
        early: Whether early stopping decided on the number of steps.
    """

    rate: float | None
    images: int | None
    steps: int | None
    sampler: str | None
    protocol: str
    early: bool = False


def training_of(source: RunSource | None) -> Training | None:
    """What a run was trained with; None without a run."""
    if source is None:
        return None
    said = source.run
    sampler = said.get("sampler") or section(source.config, "training").get("sampler")
    return Training(
        rate=rate_of(source),
        images=_whole(said.get("batch_size")),
        steps=_whole(said.get("steps")),
        sampler=None if sampler is None else str(sampler),
        protocol=source.protocol,
        early=bool(said.get("stopped_early")),
    )


def rate_of(source: RunSource | None) -> float | None:
    """The learning rate used by a run; None where its configuration does not say.

    Example:
        >>> config = {"training": {"lr": 0.002}, "algorithm": {"name": "x", "lr_scale": 0.5}}
        >>> rate_of(RunSource("a", config, {}, [], None))
        0.001
    """
    if source is None:
        return None
    rate = section(source.config, "training").get("lr")
    scale = section(source.config, "algorithm").get("lr_scale", 1.0)
    if not isinstance(rate, int | float) or not isinstance(scale, int | float):
        return None
    return float(rate) * float(scale)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def differing(study: Study, row: str, columns: Sequence[str]) -> list[str]:
    """In what a row was trained otherwise than the reference, as footnotes; one if all are alike.

    Numbers of steps count only where no early stopping decided on them.
    """
    if row == study.reference:
        return []
    found: dict[str, list[str]] = {}
    known = 0
    for column in columns:
        own, other = (training_of(study.source(name, column)) for name in (row, study.reference))
        if own is None or other is None:
            continue
        known += 1
        text = ", ".join(_differing(own, other))
        if text:
            found.setdefault(text, []).append(column)
    return [
        ("" if len(where) == known else f"{', '.join(where)}: ")
        + f"trained otherwise than {study.reference} (in brackets): {text}."
        for text, where in found.items()
    ]


def _differing(own: Training, other: Training) -> Iterator[str]:
    # Another id altogether is a footnote of the comparison, on the number itself.
    if own.protocol != other.protocol and _base(own.protocol) == _base(other.protocol):
        yield f"protocol {own.protocol or 'none'} ({other.protocol or 'none'})"
    if None not in (own.rate, other.rate) and own.rate != other.rate:
        yield f"learning rate {own.rate:g} ({other.rate:g})"
    if None not in (own.images, other.images) and own.images != other.images:
        yield f"{own.images} images a step ({other.images})"
    chosen = own.early or other.early
    if None not in (own.steps, other.steps) and own.steps != other.steps and not chosen:
        yield f"{own.steps} steps ({other.steps})"
    if None not in (own.sampler, other.sampler) and own.sampler != other.sampler:
        yield f"sampler {own.sampler} ({other.sampler})"


def _base(protocol: str) -> str:
    return protocol.removesuffix(MODIFIED)


def training_table(study: Study, column: Column) -> Table | None:
    """Learning rate, images of a step, steps and sampler of each row; None without a run."""
    table = Table(
        f"{column.name}: how each row was trained",
        ["Method", "Learning rate", "Images a step", "Steps", "Sampler"],
        texts=(4,),
    )
    for row in study.rows:
        entries = study.of(row, column.name)
        found = [t for t in (training_of(e.source) for e in entries) if t is not None]
        if not found:
            continue
        cells = [
            _cell(t.rate for t in found),
            _cell(t.images for t in found),
            _cell(t.steps for t in found),
            Cell(", ".join(dict.fromkeys(t.sampler for t in found if t.sampler)) or DASH),
        ]
        tags = ("reference",) if row == study.reference else ()
        apart = row in study.layout.controls
        table.rows.append(Row(row, cells, (*tags, *(("control",) if apart else ())), apart=apart))
    return table if table.rows else None


def _cell(values: Iterable[float | None]) -> Cell:
    """One number, or the span of those of several seeds."""
    known = sorted({value for value in values if value is not None})
    if not known:
        return Cell(DASH)
    ends = dict.fromkeys(f"{value:g}" for value in (known[0], known[-1]))
    return Cell(" to ".join(ends), value=float(known[0]))
