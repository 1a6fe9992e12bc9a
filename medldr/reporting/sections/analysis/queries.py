"""Queries, degraded and restored: on a map, and how far they are moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from medldr.evaluation.representation.moved import METRICS
from medldr.evaluation.representation.queries import Queries, Scene
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.latents.queries import queries_figure
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, columns, heading
from medldr.reporting.table import Cell, Row, Table


def queries_section(found: Mapping[str, Queries]) -> Section | None:
    """A figure for each run that degrades or restores, and a table of all; None without any.

    Args:
        found: Queries of runs by their heading.
    """
    if not found:
        return None
    drawings = [queries_figure(name, one, i + 1) for i, (name, one) in enumerate(found.items())]
    notes = [
        f"{run}: no map of queries, because {one.reason}."
        for run, one in found.items() if one.reason
    ]  # fmt: skip
    shown = Figures([drawing for drawing in drawings if drawing is not None])
    return section("analysis", "queries", shown, Bullets(notes), _table(found))


def _table(found: Mapping[str, Queries]) -> Table:
    """One row for the degraded and one for the restored latents of each run."""
    table = Table(
        "How far latents are moved, and which training image is then nearest",
        ["Latents", *(metric.heading for metric in METRICS), "Images"],
    )
    for run, one in found.items():
        for view, moved in one.moved.items():
            cells = [cell(table, n, m) for n, m in zip(moved.numbers, METRICS, strict=True)]
            table.rows.append(Row(heading(run, view), [*cells, Cell(moved.images)]))
    table.notes = [f"{metric.title}: {metric.meaning}" for metric in METRICS]
    return table


def queries_lines(found: Mapping[str, Queries]) -> list[dict[str, object]]:
    """The numbers, whose ``kind`` is ``number``, and the points of all panels, without names.

    Args:
        found: Queries of runs by their heading.
    """
    lines: list[dict[str, object]] = []
    for run, one in found.items():
        for view, moved in one.moved.items():
            for metric, number in zip(METRICS, moved.numbers, strict=True):
                lines.append(_line(
                    run, "number", latents=view, metric=metric.name, images=moved.images,
                    **columns(number),
                ))  # fmt: skip
        panels = {"batch": one.batch, "inserted": one.inserted, "one class": one.one_class}
        for panel, scene in panels.items():
            if scene is not None:
                by = "domain" if panel == "one class" else "class"
                lines += (_line(run, "point", panel=panel, **at) for at in _points(scene, by))
    return lines


def _points(scene: Scene, by: str) -> Iterator[dict[str, Any]]:
    for name, (x, y) in zip(scene.kind.tolist(), scene.background.tolist(), strict=True):
        yield {"latents": "training", by: name, "x": round(x, 4), "y": round(y, 4)}
    for view, at in {"query": scene.query, **scene.moved}.items():
        for x, y in at.tolist():
            yield {"latents": view, "x": round(x, 4), "y": round(y, 4)}


def _line(run: str, kind: str, **given: object) -> dict[str, object]:
    """A line with all columns, in the same order for numbers and points."""
    fields = ("latents", "metric", "value", "low", "high", "images", "reason",
              "panel", "class", "domain", "x", "y")  # fmt: skip
    return {"run": run, "kind": kind, **{name: given.get(name, "") for name in fields}}
