"""Reading a sweep file: what is common, the runs, the axes, the seeds, the table.

``common`` and each of the runs are like run files and are checked when they are expanded;
everything else is checked here. On the command line ``seeds=``, ``axes.KEY=``, ``search.KEY=``,
``table.KEY=``, ``title=`` and ``slurm.KEY=`` change the sweep; any other key goes to every run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from medldr.config import packaged_configs, packaged_names
from medldr.config.changes import Changes, change_texts
from medldr.config.layers import COMMAND_LINE, Layer, Merged
from medldr.config.load import refusal
from medldr.config.messages import value_at
from medldr.config.yaml import Document, KeyPath, parse_value, plain, read_yaml
from medldr.errors import InputError, did_you_mean, did_you_mean_beside
from medldr.folders.sweep_record import DRAW, RUN
from medldr.sweeps.plan.schema import (
    Axis,
    Content,
    Entry,
    TableContent,
    check_axis,
    check_entries,
    checked,
    head,
    not_an_axis,
)
from medldr.sweeps.plan.search import Search, read_search
from medldr.sweeps.plan.table import (
    Names,
    check_metrics,
    check_sides,
    known_names,
    methods,
    named_values,
    settled_rows,
    side_names,
    with_draws,
    with_sides,
)

_REFUSED: Final = {
    "axes": "name the axis: axes.KEY=[...]",
    **{key: f"name the key: {key}.KEY=..." for key in ("search", "table", "slurm")},
    "seed": "a sweep has several seeds: write seeds=[...]",
    "label": "the labels of a sweep come from its runs and axes; change them in its file",
    "runs": "change the runs of a sweep in its file; --only selects among them",
    "common": "leave out 'common.': a key of a run applies to every run",
    "after": "change the order of runs in the sweep file",
}
"""First words of keys that the command line cannot set, unless one of `_INNER` goes on."""
_INNER: Final = ("axes", "search", "table", "slurm")


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
        names: Names of the values of each axis, of the draws, and of the entries.
        overrides: Every ``KEY=VALUE`` text.
        run_overrides: Those among them that go to every run.
        gone: Names in the file that the command line removed.
        notes: For the user, what was left out of the table because of that.
        search: The random search whose draws multiply its runs, if it has one.
        fresh_seeds: Seeds with which settings are trained again once they are chosen.
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
    names: Names
    overrides: tuple[str, ...] = ()
    run_overrides: tuple[str, ...] = ()
    gone: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    search: Search | None = None
    fresh_seeds: tuple[int, ...] = ()


def load_sweep(source: str | Path | Mapping[str, Any], overrides: Changes = ()) -> SweepFile:
    """Read and check a sweep file; its runs are checked by `medldr.sweeps.plan.expand.expand`.

    Args:
        source: A packaged name (``medmnist_table``), a YAML file, or a mapping with the content of
            such a file.
        overrides: ``KEY=VALUE`` texts as on the command line, whose values are YAML; or a
            dictionary of values by key. ``seeds=3`` means the single seed 3. If the values of an
            axis have names, these names select among them.

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
    texts = change_texts(overrides)
    if isinstance(source, Mapping):
        document, folder, name = Document("the given mapping", dict(source)), Path.cwd(), "sweep"
    else:
        path = find_sweep(source)
        document, folder = read_yaml(path), path.parent
        name = sweep_name(path)
    return _Reader(document, folder, name, texts).read()


def sweep_name(path: Path) -> str:
    """The name that a sweep takes from its file, and its folder below runs."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "_", path.stem).strip("._+-") or "sweep"


def find_sweep(source: str | Path) -> Path:
    """The file that a packaged name or a path refers to.

    Raises:
        InputError: If the file does not exist, with the nearest packaged name.
    """
    packaged = packaged_names("sweep")
    if isinstance(source, str) and source in packaged:
        return packaged_configs() / "sweep" / f"{source}.yaml"
    path = Path(source).expanduser()
    if path.is_file():
        return path
    near = did_you_mean_beside(path, packaged)
    if asked := did_you_mean(str(source), ["status"]):
        near = f"{asked} `medldr sweep status DIR`."
    if str(source) in packaged_names("run"):
        near = f" It is the name of a run: `medldr train {source}`."
    raise InputError(
        f"{str(source)!r} is no sweep file and no packaged sweep.{near} `medldr list sweeps` lists "
        "them all"
    )


@dataclass
class Overrides:
    """The command line of a sweep, sorted.

    Attributes:
        of_sweep: Values by their place in the sweep file; the last one wins.
        of_runs: Texts that go to every run.
        problems: What is wrong with the rest, one line each.
    """

    of_sweep: dict[KeyPath, Any] = field(default_factory=dict)
    of_runs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def sorted_overrides(texts: Iterable[str]) -> Overrides:
    """Sort ``KEY=VALUE`` texts; one of another form goes to the runs, which report it.

    Example:
        >>> texts = ["seeds=[0, 1]", "axes.training.lr=0.1", "training.epochs=3"]
        >>> overrides = sorted_overrides(texts)
        >>> overrides.of_sweep, overrides.of_runs
        ({('seeds',): [0, 1], ('axes', 'training.lr'): 0.1}, ['training.epochs=3'])
    """
    overrides = Overrides()
    for text in texts:
        key, equals, value = text.partition("=")
        first, _, rest = key.strip().partition(".")
        inner = first in _INNER and bool(rest)
        if equals and first in _REFUSED and not inner:
            overrides.problems.append(f"{text!r} ({COMMAND_LINE}): {_REFUSED[first]}")
        elif not equals or not (inner or key.strip() in ("seeds", "title")):
            overrides.of_runs.append(text)
        else:
            try:
                read = parse_value(value, f"{text!r} ({COMMAND_LINE})")
            except InputError as error:
                overrides.problems.append(f"{error}. Quote the value if it is text")
            else:
                overrides.of_sweep[(first, *_steps(first, rest))] = read
    return overrides


def _steps(first: str, rest: str) -> list[str]:
    """The place in the sweep file below its first key; dotted keys of a run are one step."""
    if first == "axes":
        return [rest]
    if first == "search" and rest.startswith("space."):
        return ["space", rest.removeprefix("space.")]
    return rest.split(".") if rest else []


class _Reader:
    """Reads one sweep file; problems are collected and reported together."""

    def __init__(self, document: Document, folder: Path, name: str, texts: Sequence[str]) -> None:
        self.document = document
        self.folder = folder
        self.name = name
        self.texts = tuple(texts)
        self.overrides = sorted_overrides(texts)
        self.problems = list(self.overrides.problems)
        self.faulty: set[str | int] = set()
        self.merged = self._merged()

    def read(self) -> SweepFile:
        """The sweep; InputError with all problems."""
        content = checked(self.merged.values, Content, self.report)
        axes = self._axes(content)
        search = self._search(content, axes)
        check_entries(content.runs, self.report)
        entries = tuple(
            Entry(entry.label, entry.after, self._part(("runs", number), ("label", "after")))
            for number, entry in enumerate(content.runs)
        )
        self.problems += not_an_axis(list(content.axes), self.overrides.of_runs)
        for key in ("seed", "label"):
            if key in content.common:
                self.report(("common", key), "is set by the sweep, from its seeds, axes and labels")
        for number, entry in enumerate(entries):
            if "seed" in entry.document.values:
                self.report(("runs", number, "seed"), "a sweep sets seeds, as in seeds: [0, 1, 2]")
        if len(set(content.seeds)) < len(content.seeds):
            self.report(("seeds",), f"contains duplicates: {list(content.seeds)}")
        names = {axis.key: list(axis.values) for axis in axes}
        names |= {} if search is None else {DRAW: search.names}
        names |= {RUN: [entry.label or self.name for entry in entries]}
        sought = content.table if search is None else with_draws(content.table)
        table, gone, notes = self._table(sought, names)
        fresh = self._fresh_seeds(content, table)
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
            names=names,
            overrides=self.texts,
            run_overrides=tuple(self.overrides.of_runs),
            gone=gone,
            notes=(*notes, *self._seed_note()),
            search=search,
            fresh_seeds=fresh,
        )

    def _seed_note(self) -> Iterator[str]:
        """What ``seeds=3`` means, in case that three seeds were meant."""
        seed = self.overrides.of_sweep.get(("seeds",))
        if isinstance(seed, int) and seed > 1:
            several = ", ".join(map(str, range(min(seed, 5)))) + (", ..." if seed > 5 else "")
            yield f"seeds={seed} is seed {seed} alone; for {seed} seeds give 'seeds=[{several}]'"

    def report(self, path: KeyPath, problem: str) -> None:
        """Add a problem at a place of the file."""
        self.problems.append(f"{head(path, self.merged)}: {problem}")
        self.faulty.add(path[0])

    def _merged(self) -> Merged:
        """The file under the command line; an axis of the command line replaces the file's."""
        values = dict(self.document.values)
        of_sweep = self.overrides.of_sweep
        values["axes"] = _without(values.get("axes"), {p[1] for p in of_sweep if p[0] == "axes"})
        search = values.get("search")
        if isinstance(search, Mapping):
            drawn = {path[2] for path in of_sweep if path[:2] == ("search", "space")}
            values["search"] = {**search, "space": _without(search.get("space"), drawn)}
        layers = [Layer(self.document.source, self.folder, values, self.document.lines)]
        for path, value in of_sweep.items():
            for step in reversed(path):
                value = {step: value}
            layers.append(Layer(COMMAND_LINE, Path.cwd(), value))
        return Merged(layers)

    def _part(self, path: KeyPath, without: Sequence[str] = ()) -> Document:
        """The content at a place of the file, as a document with the file's line numbers."""
        values = value_at(path, self.document.values)
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
        axes = []
        for key, written in content.axes.items():
            place: KeyPath = ("axes", key)
            check_axis(key, written, self.report)
            by_file, values = place not in self.overrides.of_sweep, written
            named = of_file.get(key) if isinstance(of_file, Mapping) else None
            if not by_file and isinstance(named, Mapping):
                words = written if isinstance(written, list) else [written]
                if words and all(isinstance(word, str) and word in named for word in words):
                    by_file, values = True, {word: named[word] for word in words}
            try:
                values = named_values(key, values)
            except ValueError as error:
                self.report(place, str(error))
                continue
            folder = self.folder if by_file else Path.cwd()
            axes.append(Axis(key, values, self.merged.where(place), folder))
        return tuple(axes)

    def _search(self, content: Content, axes: tuple[Axis, ...]) -> Search | None:
        if content.search is None or "search" in self.faulty:
            return None
        if content.search.model_fields_set == {"fresh_seeds"}:
            return None  # of the axes under table.search
        problems = list[str]()
        search = read_search(content.search, self.merged, self.folder, axes, problems.append)
        if problems:
            self.problems += problems
            self.faulty.add("search")
        return search

    def _fresh_seeds(self, content: Content, table: TableContent) -> tuple[int, ...]:
        """The seeds after all others, as many as are asked for."""
        count = 0 if content.search is None else content.search.fresh_seeds
        if not count or self.faulty & {"search", "seeds", "axes", "table"}:
            return ()
        if not table.search:
            said = "nothing is searched but columns: name axes under table.search, or leave it out"
            self.report(("search", "fresh_seeds"), said)
        first = 1 + max(int(seed) for seed in content.seeds)
        return tuple(range(first, first + count))

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
        gone_rows, gone = set[str](), frozenset[str]()
        if self._before is not None:
            before = known_names(self._before.table, self._before.names)
            gone_rows = _rows(self._before) - set(rows)
            gone = frozenset(before - known_names(sided, names))
        settled, notes = settled_rows(sided, rows, gone_rows, self.report)
        return settled, gone, notes

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


def _without(values: Any, keys: Collection[str | int]) -> Any:
    """A mapping with nothing under these keys; anything else as it is."""
    if not isinstance(values, Mapping):
        return values
    return {key: None if key in keys else value for key, value in values.items()}
