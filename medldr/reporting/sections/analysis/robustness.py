"""The robustness index: whether near latents share their class or their domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.robustness import ALL, ROBUSTNESS, Index, Robustness
from medldr.folders.latents_record import VIEWS
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.latents.robustness import robustness_figure
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, columns, difference, heading
from medldr.reporting.table import CHANCE, Cell, Row, Table

PARTS = {
    ALL: "All images", "training": "Training images", "seen": "Other images of seen domains",
    "unseen": "Test images of unseen domains",
}  # fmt: skip


def robustness_section(found: Mapping[str, Robustness]) -> Section | None:
    """A figure, a table, and what restoration changes.

    Args:
        found: By heading of the run, the reference first.
    """
    if not found:
        return None
    figure = robustness_figure(found)
    ks = dict.fromkeys(str(run.k) for run in found.values())
    return section(
        "analysis", "robustness", Bullets(list(_verdict(found))),
        Figures([figure] if figure is not None else []), _table(found), k=" or ".join(ks),
    )  # fmt: skip


def robustness_lines(found: Mapping[str, Robustness]) -> list[dict[str, object]]:
    """A line for each run, part of the queries and kind of latents."""
    lines: list[dict[str, object]] = []
    for run, held in found.items():
        for name, part in held.parts.items():
            rows = dict(part.views)
            if part.recovered is not None:
                rows["restored minus degraded"] = part.recovered
            lines += [
                {"run": run, "queries": name, "latents": view, "k": held.k, "n": part.n,
                 "at_random": part.chance if view in part.views else None, **columns(index)}
                for view, index in rows.items()
            ]  # fmt: skip
    return lines


def _verdict(found: Mapping[str, Robustness]) -> Iterator[str]:
    for run, held in found.items():
        change = held.parts[ALL].recovered
        if change is not None and change.mean is not None:
            said = difference(change, ROBUSTNESS, more="higher", less="lower")
            yield f"{run}: robustness index after restoration, compared with degradation: {said}."


def _table(found: Mapping[str, Robustness]) -> Table:
    parts = {p: t for p, t in PARTS.items() if any(p in run.parts for run in found.values())}
    table = Table("Robustness index", ["Latents"])
    for name, title in parts.items():
        sizes = dict.fromkeys(f"{r.parts[name].n:,}" for r in found.values() if name in r.parts)
        table.columns.append(f"{title}, n = {' or '.join(sizes)}")
    for run, held in found.items():
        for view in VIEWS:
            if view not in held.parts[ALL].views:
                continue
            indices = [_of(held.parts.get(name), view) for name in parts]
            cells = [cell(table, index, ROBUSTNESS) for index in indices]
            table.rows.append(Row(heading(run, view), cells))
    levels = {run: [_level(held.parts.get(name)) for name in parts] for run, held in found.items()}
    alike = len(set(map(tuple, levels.values()))) == 1
    for run, level in list(levels.items())[: 1 if alike else None]:
        cells = [Cell() if x is None else Cell(Estimate(x), ROBUSTNESS) for x in level]
        said = "Drawn at random" if alike else f"Drawn at random, {run}"
        table.rows.append(Row(said, cells, style=CHANCE, apart=True))
    return table


def _of(part: Index | None, view: str) -> Estimate | None:
    return None if part is None else part.views.get(view)


def _level(part: Index | None) -> float | None:
    return None if part is None else part.chance
