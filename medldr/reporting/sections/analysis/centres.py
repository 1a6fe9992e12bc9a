"""Distances between domains within a class."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.representation.centres import DISTANCE, Centres
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.latents.centres import MOST, centres_figure
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, columns
from medldr.reporting.table import Cell, Row, Table


def centres_section(found: Mapping[str, Centres]) -> Section | None:
    """Matrices, and a table of what is read from them.

    Args:
        found: By heading of the run, the reference first.
    """
    figure = centres_figure(found)
    if figure is None:
        return None
    return section(
        "analysis", "centres", _table(found), Figures([figure]),
        shown=f"The figure shows the first {MOST} runs." if len(found) > MOST else "",
    )  # fmt: skip


def centres_lines(found: Mapping[str, Centres]) -> list[dict[str, object]]:
    """A line for each run and pair of domains, and for each number of the table."""
    lines: list[dict[str, object]] = []
    for run, held in found.items():
        rows = [("pair", a, b, estimate) for (a, b), estimate in held.pairs.items()]
        rows.append(("mean over pairs", "", "", held.mean))
        if held.seen is not None:
            rows.append(("mean over pairs of seen domains", "", "", held.seen))
        rows += [("nearest seen domain", a, b, held_) for b, (a, held_) in held.nearest.items()]
        lines += [
            {"run": run, "of": of, "domain": a, "other_domain": b,
             "unseen": " ".join(x for x in (a, b) if x in held.unseen), **columns(estimate)}
            for of, a, b, estimate in rows
        ]  # fmt: skip
    return lines


def _table(found: Mapping[str, Centres]) -> Table:
    unseen = list(dict.fromkeys(name for held in found.values() for name in held.nearest))
    seen = any(held.seen is not None for held in found.values())
    table = Table(
        DISTANCE.title,
        ["Run", *(["Mean over seen domains"] if seen else []),
         *(f"{name} (unseen) to the nearest seen" for name in unseen), "Mean over all pairs"],
    )  # fmt: skip
    for run, held in found.items():
        cells = [cell(table, held.seen, DISTANCE)] if seen else []
        for name in unseen:
            if name not in held.nearest:
                cells.append(Cell())
                continue
            near, estimate = held.nearest[name]
            shown = cell(table, estimate, DISTANCE)
            cells.append(Cell(shown.content, DISTANCE, extra=near, mark=shown.mark))
        table.rows.append(Row(run, [*cells, cell(table, held.mean, DISTANCE)]))
    return table
