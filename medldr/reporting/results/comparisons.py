"""The columns of a sweep's table: each is one comparison of the runs in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from medldr.errors import InputError
from medldr.evaluation import Run
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.comparison.comparison import Comparison, Difference
from medldr.evaluation.comparison.notes import footnotes
from medldr.evaluation.comparison.runs import methods
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.privacy import hide_names
from medldr.reporting.read.run import RATE
from medldr.reporting.read.study import Entry, Study

FOLDS = "pooled folds"
"""Why differences of pooled folds are not tested."""
CHOSE = "runs that chose their own settings"
"""Why differences of searched settings are not tested, unless other seeds are reported."""
BATCH: Final = "training.batch_"
"""What keys of the images of a step begin with."""
_HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{24,}\b")
"""Of a long hash the first eight digits say as much to a reader."""


@dataclass(frozen=True)
class Column:
    """One column: the comparison of its runs, methods named as rows are printed.

    Attributes:
        name: Its heading.
        comparison: The runs side by side; None without any result.
        planned: Runs that were planned, by row.
        missing: Runs without a result, by row: how many of each state.
        problem: Why its runs cannot be compared; empty if they can.
        notes: What readers should know about it.
        said: The problem word for word, for the terminal of the user, never for a page.
    """

    name: str
    comparison: Comparison | None
    planned: Mapping[str, int]
    missing: Mapping[str, Mapping[str, int]]
    problem: str = ""
    notes: tuple[str, ...] = ()
    said: str = ""

    def estimate(self, split: str, metric: str, row: str) -> Estimate | None:
        """The mean of a row over its runs; None where none has a result."""
        score = None if self.comparison is None else self.comparison.score(split, metric, row)
        if score is None:
            return None
        return replace(score.estimate, n=score.runs, planned=self.planned.get(row, 0))

    def difference(
        self, split: str, metric: str, row: str, domain: str | None = None
    ) -> Difference | None:
        """A row minus the reference; None where either has no result."""
        comparison = self.comparison
        return None if comparison is None else comparison.difference(split, metric, row, domain)

    def contrast(self, split: str, metric: str, pair: tuple[str, str]) -> Difference | None:
        """One row minus another; None where either has no result."""
        return None if self.comparison is None else self.comparison.contrast(split, metric, *pair)

    def pair(self, split: str, metric: str, one: str, other: str) -> Difference | None:
        """Two rows that compete, in either order; None where either has no result."""
        comparison = self.comparison
        return None if comparison is None else comparison.pair(split, metric, one, other)

    def paired_p(self, split: str, metric: str, one: str, other: str) -> float | None:
        """The p of their difference, without a correction; None where there is none."""
        difference = self.pair(split, metric, one, other)
        return None if difference is None else difference.p

    @property
    def barred(self) -> str:
        """What its runs are, where no difference between them is tested; empty where they are."""
        there = () if self.comparison is None else self.comparison.differences
        return next((difference.barred for difference in there if difference.barred), "")

    def footnotes(self, row: str) -> list[str]:
        """In what a row differs from the reference although it must not."""
        methods = () if self.comparison is None else self.comparison.methods
        notes = (method.footnotes for method in methods if method.name == row)
        return [_HASH.sub(r"\1", text) for text in next(notes, ())]

    @property
    def splits(self) -> list[str]:
        """Splits that were compared, the test split first."""
        found = [] if self.comparison is None else list(self.comparison.splits)
        return sorted(found, key=lambda split: split != "test")


def columns(study: Study) -> list[Column]:
    """Compare the runs of every column; what cannot be compared says so."""
    return [_column(study, name) for name in study.columns]


def splits(found: Sequence[Column]) -> list[str]:
    """Splits that any column has, the test split first."""
    there = {split for column in found for split in column.splits}
    return [s for s in ("test", "id_test") if s in there]


def _column(study: Study, name: str) -> Column:
    entries = study.of(column=name)
    planned = Counter(entry.member.row for entry in entries)
    missing: dict[str, Counter[str]] = {row: Counter() for row in planned}
    for entry in entries:
        if entry.run is None:
            missing[entry.member.row][entry.state] += 1
    finished = [entry for entry in entries if entry.run is not None]
    if not finished:
        return Column(name, None, planned, missing)
    try:
        result, notes = _compare(study, name, finished)
    except InputError as error:
        names = {text for e in finished for text in (e.member.run, e.member.label)}
        problem = hide_names(str(error), _ids(finished), names)
        return Column(name, None, planned, missing, problem=problem, said=str(error))
    return Column(name, result, planned, missing, notes=tuple(notes))


def _ids(entries: Sequence[Entry]) -> set[str]:
    """Ids and groups of the evaluated items, which an error may name; here also short numbers."""
    tables = [t for e in entries if e.run is not None for t in e.run.predictions.values()]
    return {str(name) for table in tables for names in (table.id, table.group) for name in names}


def _compare(study: Study, name: str, entries: Sequence[Entry]) -> tuple[Comparison, list[str]]:
    row_of_run = {entry.member.run: entry.member.row for entry in entries}
    own = study.layout.search_per_seed
    runs = _one_method_per_row([e.run for e in entries if e.run is not None], row_of_run, own)
    # The bootstrap draws of a method depend on its name: numbers equal those of `medldr compare`
    # only if the runs keep their own.
    row_of = {m.name: row_of_run[m.runs[0].name] for m in methods(runs)}
    method_of = {row: method for method, row in row_of.items()}
    reference = method_of.get(study.reference)
    pairs = [
        (method_of[one], method_of[other])
        for one, other in study.layout.contrasts
        if one in method_of and other in method_of
    ]
    controls = [method_of[row] for row in study.layout.controls if row in method_of]
    drawn = study.drawn(study.reference)
    tuned = {method_of[r]: _tuned(study.drawn(r) & drawn) for r in study.rows if r in method_of}
    made = make_comparison(
        runs, reference=reference, contrasts=pairs, controls=controls, tuned=tuned
    )
    if reference is None:  # `made` has those that differ from the first method instead
        texts, marks = footnotes(methods(runs), None)
        said = {name: tuple(texts[n - 1] for n in of) for name, of in marks.items()}
        kept = tuple(replace(method, footnotes=said[method.name]) for method in made.methods)
        made = replace(made, methods=kept, footnotes=tuple(texts))
    result = made.renamed(row_of)
    if any(entry.folds for entry in entries):
        # Images of all folds are no independent sample of what networks of other data would do.
        result = result.without_tests(FOLDS)
    if study.untested:
        result = result.without_tests(CHOSE, study.untested)
    notes = [f"{name}: {note}" for note in result.notes]
    if reference is None:
        notes.append(
            f"{name}: {study.reference} has no results, so no differences from it are shown."
        )
        between = tuple(d for d in result.differences if d.family != "reference")
        result = replace(result, reference=study.reference, differences=between)
    return result, notes


def _tuned(keys: Collection[str]) -> set[str]:
    """What of a run's training a random search chose, by the facts that `run.json` has of it."""
    images = {"batch_size", "steps"} if any(key.startswith(BATCH) for key in keys) else set()
    return images | ({"lr"} if RATE in keys else set())


def _one_method_per_row(
    runs: Sequence[Run], row_of_run: Mapping[str, str], own_settings: bool
) -> list[Run]:
    """Runs of one row and label as one method, also where the seed shows in their configuration.

    A run that starts from another one's weights names that run's folder, which holds the seed.

    Args:
        runs: The runs.
        row_of_run: The row of each, by its name.
        own_settings: Whether each seed has a setting of its own, which its label names.
    """
    first: dict[tuple[str, str], Run] = {}
    owners: dict[tuple[str, str], str] = {}
    renamed = []
    for run in runs:
        row = row_of_run[run.name]
        one = first.setdefault((row, "" if own_settings else run.label), run)
        same = owners.setdefault((one.label, one.hash), row) == row
        # Fresh seeds of a setting beside the seeds that chose it are a method of their own.
        label = one.label if same else f"{one.label} ({row})"
        renamed.append(replace(run, label=label, hash=one.hash))
    return renamed
