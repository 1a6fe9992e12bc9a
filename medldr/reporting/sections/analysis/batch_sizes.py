"""A metric against the images of a step, of runs that differ in the size of a batch alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, Final, NamedTuple

from medldr.config.identity import NOT_HASHED
from medldr.config.method import method_title, row_titles
from medldr.config.sections import dataset_name, held_out
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.frame import Line
from medldr.metrics import metric_facts
from medldr.reporting.document import Bullets, Drawing, Figures, Section
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.lines import Curve, lines_figure
from medldr.reporting.prose import section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study, titled
from medldr.reporting.results.averages import Averages
from medldr.reporting.results.averages import Cell as Place
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.analysis.topics import named
from medldr.reporting.table import ends_of, number_text
from medldr.reporting.wording import split_name

FEWEST: Final = 3
"""Fewer sizes make no curve."""
_SIZES: Final = ("batch_size", "batch_per_domain")
_UNRELATED: Final = ("evaluation", "protocol")
"""Sections that change no training: what a protocol pins is a value of its own."""
APART: Final = 0.05
"""Intervals of two curves at one size would lie on top of each other: each has its own place."""
_ASIDE: Final = {
    "data": ("root", "download", "packed", "cache", "metadata", "card", "held_out"),
    "training": _SIZES,
}
"""Keys in which runs of one curve may differ; held-out domains are averaged over."""


class BatchPoint(NamedTuple):
    """A method at one size of a batch.

    Attributes:
        images: Images that see each other: of a set, or of a step where the method knows no sets.
        per_domain: Images of each domain in a step; None where batches are not drawn by domain.
        steps: Steps of training.
        estimate: Mean over seeds, and over held-out domains if there are several.
    """

    images: int
    per_domain: int | None
    steps: int | None
    estimate: Estimate


class BatchLine(NamedTuple):
    """A method at several sizes.

    Attributes:
        name: The method.
        points: In ascending order of the size.
        reference: Whether it is the one that others are compared with.
        control: Whether it is a control.
        incomplete: Sizes that lack some of the held-out domains; they have no point.
        repeated: Sizes with several different results of the same held-out domain; the point is of
            the first.
        domains: Held-out domains that a point is a mean over; 0 or 1 where it is none.
    """

    name: str
    points: tuple[BatchPoint, ...]
    reference: bool = False
    control: bool = False
    incomplete: tuple[int, ...] = ()
    repeated: tuple[int, ...] = ()
    domains: int = 0


@dataclass(frozen=True)
class BatchCurve:
    """All methods of one data set that were trained with several sizes of a batch.

    Attributes:
        data: The data set.
        metric: The metric.
        split: The split.
        lines: One per method, the reference first.
    """

    data: str
    metric: str
    split: str
    lines: tuple[BatchLine, ...]

    @property
    def sizes(self) -> dict[int, int | None]:
        """Images in a step, ascending, and how many these are of each domain."""
        return dict(sorted((p.images, p.per_domain) for of in self.lines for p in of.points))


class _Cell(NamedTuple):
    place: Place
    name: str
    held: str
    point: BatchPoint


def batch_curves(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> list[BatchCurve]:
    """A curve for every data set with a method that was trained with three sizes or more.

    Runs of one method differ in ``training.batch_size`` or ``training.batch_per_domain`` and in
    nothing else that training depends on, wherever their size is in the table: in its rows, its
    columns or the labels of some of its runs. Runs at another learning rate are another method.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric.
        split: The split.

    Source:
        The paper's appendix shows accuracy for 4 to 100 images of each domain, without intervals.
    """
    lines: dict[tuple[str, str], list[_Cell]] = {}
    for column in columns:
        for row in study.rows:
            estimate = column.estimate(split, metric, row)
            files = study.files(row, column.name)
            if estimate is None or estimate.mean is None or files is None:
                continue
            size = _size(files)
            if size is None:
                continue
            domains = " + ".join(held_out(files.config))
            key = (dataset_name(files.config, files.facts), _method(files.config))
            point = BatchPoint(*size, estimate)
            cell = _Cell(Place(column, row), _name(study, row, files), domains, point)
            lines.setdefault(key, []).append(cell)
    by_data: dict[str, list[BatchLine]] = {}
    for (data, _), cells in lines.items():
        made = _line(study, cells, Averages(study, metric, split))
        if made is not None:
            by_data.setdefault(data, []).append(made)
    return [_curve(data, metric, split, of_data) for data, of_data in by_data.items()]


def _curve(data: str, metric: str, split: str, methods: Sequence[BatchLine]) -> BatchCurve:
    names = [line.name for line in methods]
    lines = [
        line._replace(name=f"{line.name} [{names[: place + 1].count(line.name)}]")
        if names.count(line.name) > 1
        else line
        for place, line in enumerate(methods)
    ]
    return BatchCurve(data, metric, split, tuple(sorted(lines, key=lambda of: not of.reference)))


def _line(study: Study, cells: Sequence[_Cell], averages: Averages) -> BatchLine | None:
    """The points of a method; None for fewer than three."""
    by_size: dict[int, dict[str, _Cell]] = {}
    repeated = set[int]()
    for cell in cells:
        first = by_size.setdefault(cell.point.images, {}).setdefault(cell.held, cell).point
        if first != cell.point:
            repeated.add(first.images)
    every = {held for of_size in by_size.values() for held in of_size}
    points, lost = list[BatchPoint](), list[int]()
    for size, of_size in sorted(by_size.items()):
        whole = every == of_size.keys()
        estimate = averages.mean([cell.place for cell in of_size.values()]) if whole else None
        if estimate is None:
            lost.append(size)
        else:
            points.append(next(iter(of_size.values())).point._replace(estimate=estimate))
    if len(points) < FEWEST:
        return None
    rows = {cell.place.row for cell in cells}
    return BatchLine(
        cells[0].place.row if len(rows) == 1 else cells[0].name,
        tuple(points),
        reference=study.reference in rows,
        control=rows <= set(study.layout.controls),
        incomplete=tuple(lost),
        repeated=tuple(sorted(repeated - set(lost))),
        domains=len(every),
    )


def _size(files: RunFiles) -> tuple[int, int | None, int | None] | None:
    """Images that see each other, images of each domain, and steps; None where not recorded."""
    record = files.record
    if record is None or record.batch_size is None:
        return None
    domains = record.content.get("domains_per_batch")
    per_domain = record.batch_size // domains if isinstance(domains, int) and domains else None
    seen = record.content.get("set_size")
    images = seen if isinstance(seen, int) and seen > 0 else record.batch_size
    return images, per_domain, record.steps


def _method(config: Mapping[str, Any]) -> str:
    """What training depends on, but the size of a batch and the held-out domains, as one text."""
    kept = {key: v for key, v in config.items() if key not in (*NOT_HASHED, *_UNRELATED)}
    for part, keys in _ASIDE.items():
        values = kept.get(part)
        if isinstance(values, Mapping):
            kept[part] = {key: value for key, value in values.items() if key not in keys}
    return json.dumps(kept, sort_keys=True, default=str)


def _name(study: Study, row: str, files: RunFiles) -> str:
    """The row without the size of a batch; the method's own title where its label holds the size.

    A row is one label in a sweep whose axes leave its entries apart.
    """
    axes = next((entry.member.row_values for entry in study.of(row)), {})
    kept = [value for axis, value in axes.items() if axis.rpartition(".")[2] not in _SIZES]
    if kept and len(kept) < len(axes):
        return titled(kept, {**row_titles(), **study.layout.titles})
    return method_title(files.config)


def batch_section(found: Mapping[str, Sequence[BatchCurve]]) -> Section | None:
    """A figure for each data set with runs at three sizes or more, and what to know of it.

    Args:
        found: Curves by the title of their sweep.
    """
    curves = named(found)
    drawings = [batch_figure(curve, number) for number, curve in enumerate(curves, 1)]
    notes = [f"{curve.data}: {note}" for curve in curves for note in batch_notes(curve)]
    return section("analysis", "batch", Figures.of(*drawings), Bullets(notes))


def batch_figure(curve: BatchCurve, number: int = 1) -> Drawing | None:
    """Each method's metric at every size of a batch, with 95% intervals.

    Args:
        curve: Of one data set.
        number: Of the figure on its page, from 1.
    """
    reference = next((line.name for line in curve.lines if line.reference), "")
    controls = [line.name for line in curve.lines if line.control]
    styles = looks([line.name for line in curve.lines], reference, controls)
    known = metric_facts(curve.metric)
    factor = 100.0 if known.percent else 1.0
    drawn, alt = list[Curve](), list[str]()
    for place, line in enumerate(curve.lines):
        shift = APART * (place - (len(curve.lines) - 1) / 2)
        held = [point.estimate for point in line.points]
        texts = [f"{point.images} images: {number_text(point.estimate, known, unit=True)}"
                 for point in line.points]  # fmt: skip
        drawn.append(Curve(
            [log2(point.images) + shift for point in line.points],
            [factor * (each.mean or 0.0) for each in held],
            line.name, {**styles[line.name], "marker": "o", "ms": 4.5},
            tips=[f"{line.name}, {text}" for text in texts],
            ends=[ends_of(each, factor) for each in held],
        ))  # fmt: skip
        alt.append(f"{line.name}: {'; '.join(texts)}.")
    by_domain = all(curve.sizes.values())
    names = [f"{n}\n({each})" if by_domain else f"{n}" for n, each in curve.sizes.items()]
    return lines_figure(
        f"batch_size_{number}", drawn,
        labels=("images in a step" + (" (of each domain)" if by_domain else ""), known.heading),
        limits={"xticks": [log2(size) for size in curve.sizes], "xticklabels": names},
        size=(5.2, 3.3 + 0.19 * -(-len(curve.lines) // 2)),
        title=f"{curve.data}: {known.title} against the size of a batch",
        caption="Each point is a mean over seeds with its 95% CI; the horizontal axis doubles from "
        "tick to tick. A curve that rises says that the method gains from larger batches, which "
        "plain training may do too.",
        alt=" ".join(alt),
    )  # fmt: skip


def batch_notes(curve: BatchCurve) -> Iterator[str]:
    """What points are means over, what they leave out, and what else differs between sizes."""
    yield f"{split_name(curve.split).lower()} split."
    domains = max(line.domains for line in curve.lines)
    if domains > 1:
        yield (
            f"means over {domains} domains that were held out one at a time, each with its whole "
            "test set."
        )
    for line in curve.lines:
        said = {
            "has no mean at {}: some held-out domains lack a result.": line.incomplete,
            "has several results at {}: shown is the one that comes first in the tables of the "
            "sweep.": line.repeated,
        }
        for text, at in said.items():
            if at:
                yield f"{line.name} {text.format(', '.join(map(str, at)))}"
    if len({point.steps for line in curve.lines for point in line.points}) > 1:
        yield (
            "runs with smaller batches made more steps or fewer than those with larger ones, which "
            "may explain a difference between sizes as well."
        )


def batch_lines(found: Mapping[str, Sequence[BatchCurve]]) -> list[Line]:
    """One line per method and size."""
    return [
        {"sweep": sweep, "data": curve.data, "split": curve.split, "metric": curve.metric,
         "method": line.name, "images": point.images, "per_domain": point.per_domain,
         "steps": point.steps, "runs": held.n, "planned": held.planned, "mean": held.mean,
         "low": held.low, "high": held.high, "reason": held.reason}
        for sweep, curves in found.items()
        for curve in curves
        for line in curve.lines
        for point in line.points
        for held in [point.estimate]
    ]  # fmt: skip
