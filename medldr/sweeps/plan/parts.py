"""What a sweep is made of once its file is read: entries, axes, seeds, a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medldr.config.yaml import Document
from medldr.folders.table_names import DRAW, RUN
from medldr.sweeps.plan.schema import TableContent
from medldr.sweeps.plan.search import Search


@dataclass(frozen=True)
class Entry:
    """One of the runs of a sweep file, before axes and seeds multiply it.

    Attributes:
        label: Its label; None if it is the only one and has none.
        after: Label of the entry that must be done first.
        document: Its content, like a run file.
    """

    label: str | None
    after: str | None
    document: Document


@dataclass(frozen=True)
class Axis:
    """A key and the values that it takes.

    Attributes:
        key: Dotted key of a run, or a section.
        values: Values by the name that labels and tables use.
        where: File and line, or ``command line``.
        folder: What relative paths among the values are relative to.
    """

    key: str
    values: dict[str, Any]
    where: str
    folder: Path


@dataclass(frozen=True)
class SweepFile:
    """A sweep file with what the command line changed.

    Attributes:
        name: Name of the file, without its ending.
        source: The file, as messages name it.
        title: Title of the report.
        common: What all runs share, like a run file.
        entries: The runs, at least one.
        axes: What multiplies them, in the order of the file.
        seeds: The seeds of each.
        table: How the report lays it out; ``rows`` is set; without ``columns`` they are the data.
        slurm: Settings for the SLURM launcher.
        folder: What its relative paths are relative to.
        overrides: Every ``KEY=VALUE`` text.
        run_overrides: Those among them that go to every run.
        gone: Names in the file that the command line removed.
        notes: For the user, what was left out of the table because of that.
        search: The random search whose draws multiply its runs, if it has one.
    """

    name: str
    source: str
    title: str
    common: Document
    entries: tuple[Entry, ...]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    table: TableContent
    slurm: dict[str, Any]
    folder: Path
    overrides: tuple[str, ...] = ()
    run_overrides: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    search: Search | None = None

    @property
    def names(self) -> dict[str, list[str]]:
        """Names of the values of each axis, of the draws, and of the entries."""
        return names_of(self.name, self.entries, self.axes, self.search)


def names_of(
    name: str, entries: Sequence[Entry], axes: Sequence[Axis], search: Search | None = None
) -> dict[str, list[str]]:
    """Names of the values of each axis, under ``draw`` of draws, under ``run`` labels of entries.

    Args:
        name: Name of the sweep, used for an entry without a label.
        entries: The runs.
        axes: What multiplies them.
        search: A random search, which does so too.
    """
    found = {axis.key: list(axis.values) for axis in axes}
    if search is not None:
        found[DRAW] = search.names
    return {**found, RUN: [entry.label or name for entry in entries]}
