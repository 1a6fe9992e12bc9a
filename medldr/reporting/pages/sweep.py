"""What the report of a sweep says, before it is a page, Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from medldr.errors import did_you_mean
from medldr.folders.sweep_record import SweepFolder
from medldr.metrics import ALIASES
from medldr.reporting.read.sweep import Study, read_study
from medldr.reporting.results.by_rule import rules
from medldr.reporting.results.comparisons import Column, columns, splits
from medldr.reporting.results.grid import Grid, make_grid
from medldr.reporting.results.held_out import left_out
from medldr.reporting.sections import sweep as parts_of
from medldr.reporting.sections.held_out import left_out_section
from medldr.reporting.sections.held_out_published import left_out_published, sets_published
from medldr.reporting.sections.selection import choice_section
from medldr.reporting.sections.sweep import Parts, Section
from medldr.reporting.sections.worst_group import groups

DEFAULT_METRICS = ("accuracy", "auc")


@dataclass
class SweepContent:
    """The whole report.

    Attributes:
        study: The sweep as it was read.
        columns: Its columns as they were compared.
        metrics: Measures that have a grid, the foremost first.
        grids: One per split and measure.
        banners: (kind, text) above everything.
        sections: From top to bottom.
    """

    study: Study
    columns: list[Column]
    metrics: list[str]
    grids: list[Grid]
    banners: list[tuple[str, str]]
    sections: list[Section]

    @property
    def title(self) -> str:
        """Title of the report."""
        return self.study.layout.title

    @property
    def subtitle(self) -> str:
        """Its size in words."""
        done = sum(entry.run is not None for entry in self.study.every)
        sets = left_out(self.study)
        domains = sum(len(found.domains) for found in sets)
        columns = (
            f"{_count(domains, 'held-out domain')} of {_count(len(sets), 'data set')}"
            if sets
            else _count(len(self.columns), "set")
        )
        parts = [
            _count(len(self.study.rows), "method"),
            columns,
            f"{done} of {_count(len(self.study.every), 'run')} with a result",
        ]
        return f"{', '.join(parts)}; differences are to {self.study.reference}"

    def section(self, anchor: str) -> Section | None:
        """A section by its anchor; None where it has nothing to show."""
        return next((s for s in self.sections if s.anchor == anchor), None)


def sweep_content(folder: SweepFolder) -> SweepContent:
    """Read a sweep, compare its columns, and lay the report out.

    Raises:
        InputError: If the folder holds no runs, or its `sweep.json` is damaged.
    """
    study = read_study(folder)
    found = columns(study)
    there = splits(found)
    metrics, notes = _metrics(study, found)
    grids = [make_grid(study, found, m, s) for s in there for m in metrics]
    notes = [*study.notes, *notes, *(note for column in found for note in column.notes)]
    parts = Parts(study, found, metrics, there, grids)
    sections = [
        parts_of.result(parts),
        left_out_section(parts),
        choice_section(parts),
        parts_of.missing(parts),
        Section("notes", "What to know about these numbers", "Notes", leads=notes),
        parts_of.differences(parts),
        rules(parts),
        parts_of.classes(parts),
        parts_of.calibration(parts),
        parts_of.domains(parts),
        groups(parts),
        _published(parts),
        parts_of.curves(parts),
        parts_of.runs(parts),
        parts_of.glossary(parts),
    ]
    shown = [section for section in sections if not section.empty]
    return SweepContent(study, found, metrics, grids, _banners(study, found), shown)


def _published(parts: Parts) -> Section:
    """Published numbers of whole sets, and of one held-out domain after the other."""
    section = parts_of.published(parts)
    sets = left_out(parts.study)
    tables = [sets_published(sets), *(left_out_published(found) for found in sets)]
    section.tables += [table for table in tables if table is not None]
    return section


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _metrics(study: Study, found: Sequence[Column]) -> tuple[list[str], list[str]]:
    """The measures asked for that were computed, and a note on every other one."""
    there = {row["metric"] for column in found for row in (column.result or {}).get("rows", ())}
    named = {metric.rsplit("/", 1)[-1]: None for metric in study.layout.metrics}
    asked = list(dict.fromkeys(ALIASES.get(key, key) for key in named)) or list(DEFAULT_METRICS)
    known = [metric for metric in asked if metric in there]
    notes = [
        f"There is no measure {metric!r}, which the sweep asks for.{did_you_mean(metric, there)}"
        for metric in asked
        if there and metric not in there
    ]
    return known or list(DEFAULT_METRICS), notes


def _banners(study: Study, found: Sequence[Column]) -> list[tuple[str, str]]:
    banners = [("remark", study.layout.remark)] if study.layout.remark else []
    oracles = [row for row in study.rows if study.oracle(row)]
    if oracles:
        banners.append(
            (
                "oracle",
                f"ORACLE SELECTION in {', '.join(oracles)}: weights were chosen by looking at the "
                "test split. Those numbers are upper bounds, not measurements.",
            )
        )
    missing = [entry for entry in study.every if entry.run is None]
    if missing:
        kinds = [entry.state for entry in missing]
        told = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        text = f"{len(missing)} of {_count(len(study.every), 'run')} without a result: {told}."
        banners.append(("warning", text))
    left_out = [column.name for column in found if column.problem]
    if left_out:
        text = f"Left out, because its runs cannot be compared: {', '.join(left_out)}."
        banners.append(("warning", text))
    cells = {(e.member.row, e.member.column) for e in study.entries if e.run is not None}
    if any(sum(e.run is not None for e in study.of(*cell)) == 1 for cell in cells):
        banners.append(
            (
                "warning",
                "At least one number comes from a single seed, so that nothing is known of how "
                "much it would change with another.",
            )
        )
    return banners
