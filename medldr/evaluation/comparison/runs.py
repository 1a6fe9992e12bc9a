"""Finished runs as a comparison needs them: identity and predictions of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from medldr.errors import InputError
from medldr.evaluation.checked import copies_under_another_seed, read_results
from medldr.evaluation.predictions.table import by_split
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.files import RunFolder
from medldr.folders.lifecycle import read_current
from medldr.folders.run_record import CURE, RunRecord
from medldr.types import Predictions

DONE = "done"


@dataclass(frozen=True)
class Run:
    """One finished run.

    Attributes:
        name: Name of its folder.
        label: Name of its method.
        hash: Identity of its configuration without the seed; equal for runs of one method.
        seed: Its seed.
        predictions: Tables by split.
        evaluation: Its `evaluation.json`.
        facts: Its `run.json`.
        thresholds: What was drawn of them, by the settings of the draws.
    """

    name: str
    label: str
    hash: str
    seed: int
    predictions: Mapping[str, Predictions]
    evaluation: EvaluationRecord
    facts: RunRecord
    thresholds: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def oracle(self) -> bool:
        """Whether its weights were chosen on the test split."""
        selection = self.evaluation.selection
        return selection is not None and selection.oracle


TEXT_FACTS = ("protocol", "augmentation")
FACTS = (*TEXT_FACTS, "precision", "data_hash", "split_hash")


def load_run(folder: Path | str | RunFolder) -> Run | str:
    """Read a run folder.

    Returns:
        The run, or the reason why it has no result (it failed, or it has not finished).

    Raises:
        InputError: If the folder is not a run folder, or its files are damaged or were changed.
    """
    files = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    record = read_current(files)
    if record is None:
        raise InputError(
            f"{files.path} is not a run folder: it has no run.json. Give the folders that "
            "`medldr train` wrote, for example runs/*"
        )
    if record.status != DONE:
        error = f": {record.error}" if record.error else ""
        return f"{record.status}{error}"
    absent = [f.name for f in (files.evaluation, files.predictions) if not f.is_file()]
    if absent:
        return f"missing: {' and '.join(absent)}; run `medldr evaluate {files.path}`"
    evaluation, predictions = read_results(files, record)
    if evaluation is None or predictions is None:
        return "its results were removed while they were being read"
    return run_of(files, record, evaluation, predictions)


def run_of(
    files: RunFolder, record: RunRecord, evaluation: EvaluationRecord, predictions: Predictions
) -> Run:
    """A finished run from the files of its folder.

    Raises:
        InputError: If `run.json` does not say which run it is.
    """
    if record.label is None or record.hash is None or record.seed is None:
        raise InputError(f"{files.run} does not record the run's label, hash and seed. {CURE}")
    return Run(
        name=files.path.resolve().name,
        label=record.label,
        hash=record.hash,
        seed=record.seed,
        predictions=by_split(predictions),
        evaluation=evaluation,
        facts=record,
    )


@dataclass(frozen=True)
class MethodRuns:
    """Runs that differ only in their seed.

    Attributes:
        name: Label of the runs, made unique; says "oracle" where the test split chose the weights.
        runs: In ascending order of their seed.
    """

    name: str
    runs: tuple[Run, ...]

    @property
    def oracle(self) -> bool:
        """Whether the weights of any run were chosen on the test split."""
        return any(run.oracle for run in self.runs)


def methods(runs: Sequence[Run]) -> list[MethodRuns]:
    """Group runs by configuration, in the order in which the first of each was given.

    Raises:
        InputError: If the same run is given twice, or its copy under another seed.
    """
    copied = copies_under_another_seed({run.name: run.facts for run in runs})
    for one, other in copied.items():
        raise InputError(
            f"{one} and {other} have the same weights or predictions under different seeds: one is "
            "a copy of the other, and would count as a second seed. Leave it out, or train that "
            "seed"
        )
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.label, run.hash), []).append(run)
    labels = [label for label, _ in groups]
    out = []
    for (label, identity), members in groups.items():
        seeds = [run.seed for run in members]
        twice = next((s for s in seeds if seeds.count(s) > 1), None)
        if twice is not None:
            names = ", ".join(run.name for run in members if run.seed == twice)
            raise InputError(
                f"{label} with seed {twice} is given more than once ({names}), but a run can count "
                "only once. Give each run folder once."
            )
        name = label if labels.count(label) == 1 else f"{label} ({identity})"
        name += " (oracle)" if any(run.oracle for run in members) else ""
        out.append(MethodRuns(name, tuple(sorted(members, key=lambda run: run.seed))))
    return out


def same_items(runs: Sequence[Run], split: str) -> bool:
    """Whether every run has the split, with the same items.

    They differ where the splits of a run depend on its seed (`data.split_seed: seed`).
    """
    if not all(split in run.predictions for run in runs):
        return False
    first, *others = (np.sort(run.predictions[split].id) for run in runs)
    return all(np.array_equal(first, other) for other in others)


def follows_seed(runs: Sequence[Run], split: str) -> bool:
    """Whether the items of a split that all runs have differ between seeds, and only there."""
    by_seed: dict[int, list[Run]] = {}
    for run in runs:
        by_seed.setdefault(run.seed, []).append(run)
    alike = all(same_items(members, split) for members in by_seed.values())
    return alike and not same_items(runs, split)


def aligned(runs: Sequence[Run], split: str) -> list[Predictions]:
    """The split's table of each run, rows in one common order.

    Raises:
        InputError: If the runs were not evaluated on the same items with the same labels.
    """
    tables = []
    for run in runs:
        table = run.predictions[split]
        tables.append(table.select(np.argsort(table.id, kind="stable").astype(np.int64)))
    first = tables[0]
    for run, table in zip(runs[1:], tables[1:], strict=True):
        pair = f"{runs[0].name} and {run.name}"
        if not np.array_equal(first.id, table.id):
            odd = sorted(set(first.id.tolist()) ^ set(table.id.tolist()))
            shown = ", ".join(odd[:3]) or "a duplicate id"
            raise InputError(
                f"{pair} cannot be compared: their {split} items differ "
                f"({len(first)} and {len(table)} items; only in one of them: {shown}). "
                "Compare runs on the same dataset, split and held-out domains."
            )
        for what in ("label", "domain", "group"):
            one, other = getattr(first, what), getattr(table, what)
            if not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                same = (one == other) | ((one != one) & (other != other))  # NaN: both missing
                differing = ~same.reshape(len(same), -1).all(axis=1)
                item = first.id[np.flatnonzero(differing)[0]]
                raise InputError(
                    f"{pair} cannot be compared: the {what} of {split} item {item} differs. "
                    "The data changed between the runs."
                )
    return tables


def same_task(runs: Sequence[Run]) -> None:
    """Check that all runs have the same task and classes.

    Raises:
        InputError: If task or classes differ.
    """
    first = runs[0].evaluation
    for run in runs[1:]:
        other = run.evaluation
        for key, one, two in (
            ("task", first.task, other.task),
            ("classes", list(first.class_names), list(other.class_names)),
        ):
            if one != two:
                raise InputError(
                    f"{runs[0].name} and {run.name} cannot be compared: they differ in {key} "
                    f"({one} and {two})"
                )
