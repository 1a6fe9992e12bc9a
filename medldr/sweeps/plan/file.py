"""Reading a sweep file: what is common, the runs, the axes, the seeds, the table.

``common`` and each of the runs are like run files and are checked when they are expanded;
everything else is checked here. On the command line ``seeds=``, ``axes.KEY=``, ``search.KEY=``,
``table.KEY=``, ``title=`` and ``slurm.KEY=`` change the sweep; any other key goes to every run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medldr.config import packaged_configs, packaged_names
from medldr.config.layers import COMMAND_LINE, Layer, Merged
from medldr.config.load import refusal
from medldr.config.yaml import Document, KeyPath, plain, read_yaml
from medldr.errors import InputError, did_you_mean
from medldr.sweeps.plan.key_checks import check_axis, check_entries, check_not_an_axis
from medldr.sweeps.plan.labels import named_values
from medldr.sweeps.plan.overrides import sorted_out
from medldr.sweeps.plan.parts import Axis, Entry, SweepFile, names_of
from medldr.sweeps.plan.schema import Content, TableContent, checked, head
from medldr.sweeps.plan.search import Search
from medldr.sweeps.plan.search_file import read_search
from medldr.sweeps.plan.table import (
    Names,
    check_metrics,
    check_sides,
    known_names,
    methods,
    settled_rows,
    side_names,
    with_draws,
    with_sides,
)

__all__ = ["SweepFile", "find_sweep", "load_sweep"]


def load_sweep(source: str | Path | Mapping[str, Any], overrides: Sequence[str] = ()) -> SweepFile:
    """Read and check a sweep file; its runs are checked by `medldr.sweeps.plan.expand.expand`.

    Args:
        source: A packaged name (``medmnist_table``), a YAML file, or a mapping with the content of
            such a file.
        overrides: ``KEY=VALUE`` texts as on the command line; values are YAML. ``seeds=3`` means
            the single seed 3. If the values of an axis have names, these names select among them.

    Raises:
        InputError: Naming every problem at once, with file and line.

    Example:
        >>> sweep = load_sweep(
        ...     {"common": {"extends": "run/retinamnist_erm"}, "axes": {"algorithm": ["erm"]}},
        ...     ["seeds=[0, 1]", "axes.training.lr=[1e-3, 1e-2]", "training.epochs=3"],
        ... )
        >>> [(axis.key, list(axis.values)) for axis in sweep.axes]
        [('algorithm', ['erm']), ('training.lr', ['lr-1e-3', 'lr-1e-2'])]
        >>> sweep.seeds, sweep.table.rows, sweep.run_overrides
        ((0, 1), ('algorithm', 'training.lr'), ('training.epochs=3',))
    """
    texts = [overrides] if isinstance(overrides, str) else list(overrides)
    if isinstance(source, Mapping):
        document, folder, name = Document("the given mapping", dict(source)), Path.cwd(), "sweep"
    else:
        path = find_sweep(source)
        document, folder = read_yaml(path), path.parent
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", path.stem).strip("._+-") or "sweep"
    return _Reader(document, folder, name, texts).read()


def find_sweep(source: str | Path) -> Path:
    """The file that a packaged name or a path refers to.

    Raises:
        InputError: If the file does not exist, with the nearest packaged name.
    """
    known = packaged_names("sweep")
    if isinstance(source, str) and source in known:
        return packaged_configs() / "sweep" / f"{source}.yaml"
    path = Path(source).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(f"{source} is a folder: give a sweep file or the name of a packaged sweep")
    near = did_you_mean(path.stem, known)
    if path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        raise InputError(f"there is no file {source}{near}")
    if str(source) in packaged_names("run"):
        near = f" It is the name of a run: `medldr train {source}`."
    raise InputError(
        f"there is no packaged sweep named {str(source)!r}, nor a file of that name.{near} "
        "`medldr list sweeps` lists them all"
    )


class _Reader:
    """Reads one sweep file; problems are collected and reported together."""

    def __init__(self, document: Document, folder: Path, name: str, texts: Sequence[str]) -> None:
        self.document = document
        self.folder = folder
        self.name = name
        self.texts = tuple(texts)
        self.overrides = sorted_out(texts)
        self.problems = list(self.overrides.problems)
        self.faulty: set[str | int] = set()
        self.merged = self._merged()

    def read(self) -> SweepFile:
        """The sweep; InputError with all problems."""
        content = checked(self.merged.values, self.report)
        axes = self._axes(content)
        search = self._search(content, axes)
        entries = tuple(
            Entry(entry.label, entry.after, self._part(("runs", number), ("label", "after")))
            for number, entry in enumerate(content.runs)
        )
        check_entries([(entry.label, entry.after) for entry in entries], self.report)
        self.problems += check_not_an_axis(list(content.axes), self.overrides.of_runs)
        for key in ("seed", "label"):
            if key in content.common:
                self.report(("common", key), "is set by the sweep, from its seeds, axes and labels")
        for number, entry in enumerate(entries):
            if "seed" in entry.document.values:
                self.report(("runs", number, "seed"), "a sweep sets seeds, as in seeds: [0, 1, 2]")
        if len(set(content.seeds)) < len(content.seeds):
            self.report(("seeds",), f"contains duplicates: {list(content.seeds)}")
        names = names_of(self.name, entries, axes, search)
        sought = content.table if search is None else with_draws(content.table)
        table, gone, notes = self._table(sought, names)
        title = content.title or self.name
        of_file = ("title",) not in self.overrides.of_sweep
        if of_file and not self.problems and self._other_methods(table, names):
            title = self.name  # that of the file describes its own methods
        if self.problems:
            raise refusal(f"the sweep {self.document.source}", self.problems)
        return SweepFile(
            name=self.name,
            source=self.document.source,
            title=title,
            common=self._part(("common",)),
            entries=entries,
            axes=axes,
            seeds=tuple(plain(seed) for seed in content.seeds),
            table=table,
            slurm=plain(content.slurm),
            folder=self.folder,
            overrides=self.texts,
            run_overrides=tuple(self.overrides.of_runs),
            gone=gone,
            notes=notes,
            search=search,
        )

    def report(self, path: KeyPath, said: str) -> None:
        """Add a problem at a place of the file."""
        self.problems.append(f"{head(path, self.merged)}: {said}")
        self.faulty.add(path[0])

    def _merged(self) -> Merged:
        """The file under the command line; an axis of the command line replaces the file's."""
        values = dict(self.document.values)
        if isinstance(values.get("axes"), Mapping):
            replaced = {path[1] for path in self.overrides.of_sweep if path[0] == "axes"}
            values["axes"] = {k: None if k in replaced else v for k, v in values["axes"].items()}
        search = values.get("search")
        if isinstance(search, Mapping) and isinstance(search.get("space"), Mapping):
            drawn = {path[2] for path in self.overrides.of_sweep if path[:2] == ("search", "space")}
            space = {k: None if k in drawn else v for k, v in search["space"].items()}
            values["search"] = {**search, "space": space}
        file = Layer(self.document.source, self.folder, values, self.document.lines)
        return Merged([file, Layer(COMMAND_LINE, Path.cwd(), self.overrides.nested())])

    def _part(self, path: KeyPath, without: Sequence[str] = ()) -> Document:
        """The content at a place of the file, as a document with the file's line numbers."""
        values: Any = self.document.values
        for step in path:
            if isinstance(values, Mapping):
                values = values.get(step)
            elif isinstance(values, Sequence) and isinstance(step, int) and step < len(values):
                values = values[step]
        if not isinstance(values, Mapping):  # nothing, or of a wrong type, reported already
            values = {}
        lines = {
            place[len(path) :]: line
            for place, line in self.document.lines.items()
            if place[: len(path)] == path
        }
        kept = {key: value for key, value in values.items() if key not in without}
        return Document(self.document.source, kept, lines)

    def _axes(self, content: Content) -> tuple[Axis, ...]:
        of_file = self.document.values.get("axes")
        found = []
        for key, written in content.axes.items():
            place: KeyPath = ("axes", key)
            check_axis(key, written, self.report)
            named = of_file.get(key) if isinstance(of_file, Mapping) else None
            chosen = _chosen(written, named) if place in self.overrides.of_sweep else None
            by_file = chosen is not None or place not in self.overrides.of_sweep
            try:
                values = named_values(key, written if chosen is None else chosen)
            except ValueError as error:
                self.report(place, str(error))
                continue
            folder = self.folder if by_file else Path.cwd()
            found.append(Axis(key, values, self.merged.where(place), folder))
        return tuple(found)

    def _search(self, content: Content, axes: tuple[Axis, ...]) -> Search | None:
        if content.search is None or "search" in self.faulty:
            return None
        problems = list[str]()
        search = read_search(content.search, self.merged, self.folder, axes, problems.append)
        if problems:
            self.problems += problems
            self.faulty.add("search")
        return search

    def _table(
        self, table: TableContent, names: Names
    ) -> tuple[TableContent, frozenset[str], tuple[str, ...]]:
        """The table of these rows, the names that were removed, and notes on what that leaves out.

        Rows that the command line removed are not a mistake. What depends on faulty axes or runs
        is not checked: it would only be reported as missing.
        """
        check_metrics(table, self.report)
        if "axes" not in self.faulty:
            check_sides(table, names, self.report)
        if self.faulty & {"runs", "axes", "table"}:
            return table, frozenset(), ()
        sided = with_sides(table, names)
        rows = side_names(methods(sided), names)
        gone_rows, gone = self._gone(rows, known_names(sided, names))
        settled, notes = settled_rows(sided, rows, gone_rows, self.report)
        return settled, gone, notes

    def _gone(self, rows: Sequence[str], there: set[str]) -> tuple[set[str], frozenset[str]]:
        """Rows, and names of any kind, that only the file without the command line has."""
        before = self._before
        if before is None:
            return set(), frozenset()
        known = known_names(before.table, before.names)
        return _rows(before) - set(rows), frozenset(known - there)

    def _other_methods(self, table: TableContent, names: Names) -> bool:
        """Whether the command line left other methods than the file has."""
        before = self._before
        return before is not None and _rows(before) != set(side_names(methods(table), names))

    @functools.cached_property
    def _before(self) -> SweepFile | None:
        """The file without the command line; None where that changes nothing of the sweep."""
        if not self.overrides.of_sweep:
            return None
        try:
            return _Reader(self.document, self.folder, self.name, ()).read()
        except InputError:  # nothing can be removed from a file that is faulty by itself
            return None


def _rows(sweep: SweepFile) -> set[str]:
    """Names of its methods."""
    return set(side_names(methods(sweep.table), sweep.names))


def _chosen(written: Any, named: Any) -> dict[str, Any] | None:
    """The values of the file's axis that the command line selects by name, if it does."""
    words = written if isinstance(written, list) else [written]
    if not words or not isinstance(named, Mapping):
        return None
    if not all(isinstance(word, str) and word in named for word in words):
        return None
    return {word: named[word] for word in words}
