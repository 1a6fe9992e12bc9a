"""Nearest neighbours of z, z_d and z_r: shares of each kind, and restored against degraded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.neighbours import (
    ALIKE,
    SAME_CLASS,
    SAME_UNSEEN,
    SHARES,
    Neighbours,
    Part,
)
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.latents.neighbours import PARTS, across_figure, shares_figure
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, columns, difference, heading
from medldr.reporting.sections.rows import count
from medldr.reporting.table import CHANCE, Cell, Row, Table

PART_OF = (
    "Neighbours of the same class in an unseen domain are part of those of the same class in "
    "another domain; all numbers are shares of all neighbours."
)


def neighbours_section(found: Mapping[str, Neighbours]) -> Section | None:
    """What restoration changes, figures, and a table for each part of the queries.

    Args:
        found: By heading of the run, the reference first.
    """
    if not found:
        return None
    main = next((part for part in ("unseen", "other") if _has(found, part)), "")
    drawings = [across_figure(found), *(shares_figure(found, p) for p in ("training", main) if p)]
    tables = [_table(found, part) for part in PARTS if _has(found, part)]
    ks = dict.fromkeys(str(run.k) for run in found.values())
    return section(
        "analysis", "neighbours",
        Bullets(list(_verdict(found))),
        Figures([drawing for drawing in drawings if drawing is not None]),
        *tables,
        k=" or ".join(ks),
        left_out=_left_out(found),
    )  # fmt: skip


def _left_out(found: Mapping[str, Neighbours]) -> str:
    """The most images that any run leaves out, by the reason."""
    why = {
        "a latent is zero or not finite": max(run.left_out for run in found.values()),
        "they have no domain": max(run.nowhere for run in found.values()),
    }
    said = [f"Left out, because {w}: {count(n, 'image')}." for w, n in why.items() if n]
    return " ".join(said)


def neighbours_lines(found: Mapping[str, Neighbours]) -> list[dict[str, object]]:
    """A line for each run, part of the queries, kind of latents and share."""
    lines: list[dict[str, object]] = []
    for run, held in found.items():
        for name, part in held.parts.items():
            for view, shares in (*part.views.items(), ("restored minus degraded", part.recovered)):
                for key, share in shares.items():
                    chance = part.chance[key] if view in part.views else None
                    lines.append(
                        {"run": run, "queries": name, "latents": view, "neighbours": key,
                         "k": held.k, "n": part.n, "at_random": chance, **columns(share)}
                    )  # fmt: skip
    return lines


def _has(found: Mapping[str, Neighbours], part: str) -> bool:
    return any(part in run.parts for run in found.values())


def _verdict(found: Mapping[str, Neighbours]) -> Iterator[str]:
    """Whether restored latents are nearer to their class than degraded ones."""
    for run, held in found.items():
        for name, part in held.parts.items():
            key = SAME_CLASS if SAME_CLASS in part.recovered else ALIKE
            change = part.recovered.get(key)
            if name == "seen" or change is None or change.mean is None:
                continue
            kind = "the same class in another domain" if key == SAME_CLASS else "the same class"
            said = difference(change, SHARES[key])
            yield (
                f"{run}, {PARTS[name]}: neighbours of {kind} after restoration, compared with "
                f"degradation: {said}."
            )


def _table(found: Mapping[str, Neighbours], name: str) -> Table:
    parts = {run: held.parts[name] for run, held in found.items() if name in held.parts}
    sizes = dict.fromkeys(f"{part.n:,}" for part in parts.values())
    # A kind that no neighbour can be of, such as another unseen domain where there is only one.
    keys = [key for key, level in next(iter(parts.values())).chance.items() if level > 0]
    table = Table(
        f"Nearest neighbours of {PARTS[name]} (n = {' or '.join(sizes)})",
        ["Latents", *(SHARES[key].heading for key in keys)],
    )
    for run, part in parts.items():
        for view, shares in part.views.items():
            cells = [cell(table, shares.get(key), SHARES[key]) for key in keys]
            table.rows.append(Row(heading(run, view), cells))
    table.rows += _chance(parts, keys)
    if SAME_UNSEEN in keys:
        table.notes.append(PART_OF)
    return table


def _chance(parts: Mapping[str, Part], keys: list[str]) -> Iterator[Row]:
    """One row where chance is the same for all runs, which it is on the same images."""
    levels = [part.chance for part in parts.values()]
    alike = all(level == levels[0] for level in levels)
    for run, level in zip(parts, levels, strict=True):
        cells = [Cell(Estimate(level.get(key)), SHARES[key]) for key in keys]
        yield Row(
            "Drawn at random" if alike else f"Drawn at random, {run}", cells,
            style=CHANCE, apart=True,
        )  # fmt: skip
        if alike:
            return
