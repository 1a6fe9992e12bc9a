"""Answers to new items, by one run or by several as an ensemble.

Source:
    Our choice: an ensemble's probabilities are the mean of its runs', and its threshold the mean of
    theirs. That threshold was not chosen for the ensemble, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from medldr.config.automatic import has_fast_bfloat16
from medldr.data.files.array import scan_of_array
from medldr.data.files.scan import ScanError, Source
from medldr.data.reading.new_item import NewItem
from medldr.data.threads import in_threads
from medldr.errors import InputError, in_callers_words
from medldr.evaluation.predictions.log_odds import log_odds_of_mean
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder
from medldr.folders.preprocessing_record import label_rule
from medldr.plugins import takes_plugins
from medldr.prediction.answers import Answers, Unreadable, mean_threshold
from medldr.prediction.by_group import by_group, group_rule
from medldr.prediction.items import Item, find_items, item_of_array, item_of_images, listed
from medldr.prediction.trained import Trained
from medldr.prediction.unusual import agreed
from medldr.prediction.views import check_views, views_of
from medldr.training.machine.fabric import computed_in

Inputs: TypeAlias = str | Path | Sequence[Any] | NDArray[Any] | Tensor
OnAnswer = Callable[[Item, Sequence[NewItem], NDArray[np.float64]], None]
"""Called with each item that was answered, what each run read of it, and its probabilities."""


class _Read(NamedTuple):
    item: Item
    images: tuple[NewItem, ...]
    reason: str


def load_runs(
    runs: str | Path | Sequence[str | Path],
    device: str | None = None,
    precision: str | None = None,
    encoder: str | Path | None = None,
) -> list[Trained]:
    """Runs that can answer together.

    Args:
        runs: A run folder, or several of them.
        device: Device to use; None: each run's own.
        precision: ``float32``, ``bfloat16`` or ``float16``; None: the one that each was trained in.
        encoder: Of runs on stored latents, where their encoder is; None: beside the latents.

    Raises:
        InputError: If one is not a finished run, their classes or kinds of images differ, or the
            precision is unknown or the device cannot compute in it.
    """
    folders = [runs] if isinstance(runs, str | Path) else list(runs)
    if not folders:
        raise InputError("no run is named: give the folder that `medldr train` printed")
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise InputError("a run is named twice: an ensemble needs different runs")
    loaded = [Trained(folder, device, precision, encoder) for folder in folders]
    first = loaded[0]
    for other in loaded[1:]:
        if _answers_of(first) != _answers_of(other):
            raise InputError(
                f"{first.folder} and {other.folder} cannot answer together: their tasks, classes "
                f"and axes are {_answers_of(first)} and {_answers_of(other)}"
            )
    return loaded


def _answers_of(run: Trained) -> tuple[Any, ...]:
    record = run.record
    return (
        record.task,
        record.class_names,
        record.positive_class,
        len(run.shape),
        *run.reader.images,
    )


def predict_items(
    runs: Sequence[Trained],
    items: Sequence[Item],
    *,
    tta: str | Sequence[str] = (),
    on_answer: OnAnswer | None = None,
) -> Answers:
    """Answer items, in their order; those that cannot be used are listed with the reason.

    Args:
        runs: As `load_runs` gives them.
        items: What is to be predicted.
        tta: Views that are averaged, by name, or joined by ``+``; see `medldr.prediction.views`.
        on_answer: Called with each answered item, for explanations.

    Raises:
        InputError: If a view is unknown or was not trained with.
    """
    tta = [name for name in (tta.split("+") if isinstance(tta, str) else tta) if name]
    for run in runs:
        check_views(tta, run.record.transform, run.record.input.spatial_size)
    views = views_of(tta, len(runs[0].record.input.spatial_size))
    names: list[str] = []
    groups: list[str] = []
    bad: list[Unreadable] = []
    warnings: list[tuple[str, ...]] = []
    record = runs[0].record
    of_runs = [np.empty((len(runs), 0, len(record.class_names)))]
    odds = [np.empty((0, len(record.class_names)))]
    for batch in _batches(runs, items):
        good = [one for one in batch if not one.reason]
        bad += [Unreadable(one.item.name, one.reason) for one in batch if one.reason]
        if not good:
            continue
        given = [run.answer([one.images[k] for one in good], views) for k, run in enumerate(runs)]
        probs = np.stack([prob for prob, _, _ in given])
        of_runs.append(probs)
        odds.append(log_odds_of_mean(np.stack([one for _, one, _ in given])))
        for row, one in enumerate(good):
            names.append(one.item.name)
            groups.append(one.item.group)
            facts = one.images[0].facts
            changed = () if facts is None else facts.warnings
            unusual = agreed([texts[row] for _, _, texts in given])
            warnings.append((*unusual, *changed))
            if on_answer is not None:
                on_answer(one.item, one.images, probs[:, row].mean(axis=0))
    every = np.concatenate(of_runs, axis=1)
    return Answers(
        task=record.task,
        class_names=record.class_names,
        names=tuple(names),
        prob=every.mean(axis=0),
        log_odds=np.concatenate(odds),
        spread=every.std(axis=0, ddof=1) if len(runs) > 1 else None,
        positive_class=record.positive_class,
        threshold=_threshold(runs),
        thresholds=_thresholds(runs),
        warnings=tuple(warnings),
        unreadable=tuple(bad),
        notes=_notes(runs, tta, views=len(views)),
        groups=tuple(groups),
        precision="+".join(dict.fromkeys(run.precision for run in runs)),
    )


@takes_plugins
def predict(
    runs: str | Path | Sequence[str | Path],
    inputs: Inputs,
    *,
    tta: str | Sequence[str] = (),
    device: str | None = None,
    path_column: str | None = None,
    group: str | None = None,
    spacing: Sequence[float] | None = None,
    precision: str | None = None,
    encoder: str | Path | None = None,
    plugins: Sequence[str] = (),
) -> Answers:
    """Probabilities of new items.

    Args:
        runs: The folder of a trained run, or of several, whose probabilities are averaged.
        inputs: Files, folders, DICOM series and tables by their paths; or values as a file would
            hold them: a list with an array of each item (a picture ``(H, W)`` or ``(H, W, 3)``, a
            volume ``(X, Y, Z)``), or one array or tensor ``(N, ...)`` of them. Of a network that
            takes several images per item: a table, or a list with a tuple of paths or arrays each.
        tta: Views of each image whose probabilities are averaged: ``left_right``, ``up_down``,
            ``front_back``, ``quarter_turns``, of those that training has seen.
        device: Device to use; unset: the runs' own.
        path_column: Column of a table that names files; unset: that of the run, or the one whose
            name says so.
        group: Column of a table with the patient of each item: `Answers.by_group` then has an
            answer to each patient, as ``evaluation.aggregate`` made them of the run's own.
        spacing: Of arrays, mm between pixels along each axis, for runs that resample to a spacing.
        precision: ``float32``, ``bfloat16`` or ``float16``; unset: the one that each run was
            trained in.
        encoder: Of runs on stored latents, to which images are given: the folder of latents that
            `medldr.features` wrote, or the run whose network made them; unset: where the latents
            of training were.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        The answers; as an array they are their probabilities ``(N, K)``. An item that cannot be
        used is in `Answers.unreadable`, and the others are answered.

    Raises:
        InputError: If a folder is no finished run, nothing is named, the precision is not
            available, or the runs did not score groups, or in different ways.
    """
    loaded = load_runs(runs, device, precision, encoder)
    return answer(loaded, inputs, tta, path_column, group, spacing)


def answer(
    runs: Sequence[Trained],
    inputs: Inputs,
    tta: str | Sequence[str] = (),
    path_column: str | None = None,
    group: str | None = None,
    spacing: Sequence[float] | None = None,
    on_answer: OnAnswer | None = None,
) -> Answers:
    """`predict` with runs that are loaded; `on_answer` is called with each item, as it is made."""
    how = None if group is None else group_rule([run.folder for run in runs])
    axes, images = runs[0].axes, runs[0].reader.images
    given = [inputs] if isinstance(inputs, str | Path) else listed(inputs, axes)
    notes: list[str] = []
    if all(isinstance(one, str | Path) for one in given):
        slices = runs[0].takes_slices
        usual = None if images else getattr(runs[0].config.data, "path", None)
        items = find_items(
            given, axes, path_column, group, images, notes, slices=slices, usual=usual
        )
    else:
        several = images or any(isinstance(one, tuple) for one in given)
        of = item_of_images if several else item_of_array
        items = [of(number, one, spacing) for number, one in enumerate(given)]
    answers = predict_items(runs, items, tta=tta, on_answer=on_answer)
    answers = replace(answers, notes=(*answers.notes, *notes))
    if how is None or not len(answers):
        return answers
    return replace(answers, by_group=by_group(answers, items, how))


def _batches(runs: Sequence[Trained], items: Sequence[Item]) -> Iterator[list[_Read]]:
    """Items as each run reads them, read in threads while others are answered."""
    size = min(run.batch_size for run in runs)

    def of(rows: range) -> list[_Read]:
        return [_read(runs, items[row]) for row in rows]

    step = max(1, min(size, 16))
    waiting: list[_Read] = []
    for part in in_threads(of, len(items), step=step, title="predicting"):
        waiting += part
        if len(waiting) + step > size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _read(runs: Sequence[Trained], item: Item) -> _Read:
    if item.reason:
        return _Read(item, (), item.reason)
    read: dict[tuple[str, str], NewItem] = {}
    try:
        for run in runs:
            if run.reads_like not in read:
                read[run.reads_like] = _new_item(run, item)
    except ScanError as error:
        return _Read(item, (), str(error))
    return _Read(item, tuple(read[run.reads_like] for run in runs), "")


def _new_item(run: Trained, item: Item) -> NewItem:
    if item.source is not None:
        return run.reader.read(item.source)
    axes: Literal[2, 3] = 2 if run.axes == 2 else 3
    arrays, spacing = item.array
    run.reader.require_images(arrays)
    if spacing is None and run.seen.reading.get("spacing") is not None:
        raise ScanError(
            "an array does not say its spacing, which this run needs: give spacing=(...) in mm"
        )
    scans = [None if array is None else scan_of_array(array, axes) for array in arrays]
    if spacing is not None:
        mm = tuple(map(float, spacing))
        scans = [None if scan is None else replace(scan, spacing=mm) for scan in scans]
    return run.reader.of_scans(scans, Source(Path(item.name)))


def _threshold(runs: Sequence[Trained]) -> float | None:
    return mean_threshold(run.record.threshold for run in runs)


def _thresholds(runs: Sequence[Trained]) -> dict[str, float]:
    """The mean of each label's thresholds; none for a label that any run has none of."""
    names = runs[0].record.class_names
    means = {n: mean_threshold(run.record.thresholds.get(n) for run in runs) for n in names}
    return {name: mean for name, mean in means.items() if mean is not None}


def _reached(runs: Sequence[Trained]) -> str:
    """What the threshold of a single run gave on its own test split, both halves; else empty."""
    files = RunFolder(runs[0].folder)
    if len(runs) > 1 or not files.evaluation.is_file():
        return ""
    test = read_evaluation(files).splits.get("test")
    made = None if test is None else test.decisions
    if made is None:
        return ""
    positives = made.true_positives + made.false_negatives
    negatives = made.true_negatives + made.false_positives
    if not positives or not negatives:
        return ""
    sensitivity, specificity = made.true_positives / positives, made.true_negatives / negatives
    return (
        f"; on the run's own test split a sensitivity of {sensitivity:.1%} at a specificity of "
        f"{specificity:.1%}"
    )


def _notes(runs: Sequence[Trained], tta: Sequence[str], *, views: int) -> tuple[str, ...]:
    notes = []
    threshold, record = _threshold(runs), runs[0].record
    if len(runs) > 1:
        notes.append(f"probabilities, and the threshold if any, are the mean of {len(runs)} runs")
    if threshold is not None:
        notes.append(
            f"predicted: {record.positive_class} above a probability of {threshold:.3g}, "
            f"chosen on {record.threshold_from} for a specificity of {record.specificity}"
            f"{_reached(runs)}"
        )
    bag_by = getattr(runs[0].config.data, "bag_by", None)
    if bag_by is not None:
        notes.append(
            f"the network was trained on all latents of one {bag_by} together (data.bag_by); here "
            "each file is an item: give those of one in one file"
        )
    if record.task == "multi-label":
        notes.append(f"predicted: {label_rule(record, _thresholds(runs))}")
    if tta:
        notes.append(f"probabilities are the mean of {views} views of each image")
    if not record.stored.spatial_size:
        notes.append("of unlikeness to training images, a latent shows mean and SD alone")
    elif any(run.record.latents is None for run in runs):
        notes.append("unlikeness to training images was not measured (no validation images)")
    notes += dict.fromkeys(mark for run in runs for mark in run.marks)
    notes += dict.fromkeys(map(_computed, runs))
    return tuple(notes)


def _computed(run: Trained) -> str:
    """In which precision answers were computed, and what that costs."""
    if other := computed_in(run.fabric, run.trained_in):
        return other
    said = f"computed in {run.precision}, the precision of training"
    device = run.fabric.device.type
    if run.precision == "bfloat16" and not has_fast_bfloat16(device):
        said += (
            f"; this {device} is slow in it: --precision=float32 is faster and differs by rounding "
            "alone"
        )
    return in_callers_words(said)
