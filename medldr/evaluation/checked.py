"""The results of a run, read only if they are as the run wrote them.

Reports and comparisons print nothing of a run whose files were changed: `evaluation.json` must
follow from `predictions.csv`, and the files that are read must have the checksums that `run.json`
holds. Of a run without checksums, what follows from its predictions is checked.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

from medldr.config import RunConfig, load_config, run_hash
from medldr.config.identity import hashed_settings
from medldr.errors import InputError
from medldr.evaluation.agreement import differences
from medldr.evaluation.predictions.table import read_predictions
from medldr.folders.checksums import KEPT, changes, checksums_of, is_scored, result_files
from medldr.folders.evaluation_record import EvaluationRecord, read_evaluation
from medldr.folders.files import RunFolder, checksum, read_text, write_text
from medldr.folders.run_record import RunRecord, add_to_run_record, read_run_record
from medldr.types import Predictions

_WEIGHTS, _PREDICTIONS = "model.safetensors", "predictions.csv"
SHOWN = 3
"""How many differences a message lists."""


def read_results(
    files: RunFolder, record: RunRecord | None, rule: str | None = None
) -> tuple[EvaluationRecord | None, Predictions | None]:
    """The evaluation and the predictions of a run, each None where it is absent.

    Those of a rule that is not reported are computed again only where no checksum says that they
    are as they were written: sweeps have many.

    Args:
        files: The run folder.
        record: Its `run.json`; None where it is absent.
        rule: The rule that chose the weights; None: the reported one.

    Raises:
        InputError: If a file is damaged or was changed, or the evaluation does not follow from the
            predictions; names the run, what differs and the cure.
    """
    evaluation, table, wrong = None, None, list[str]()
    made, predictions = files.evaluation_of(rule), files.predictions_of(rule)
    read = (files.run, files.metrics, files.splits, predictions, made, files.mistakes)
    changed = _changed(files, record, *((made, predictions) if rule else read))
    sure = rule and record is not None and record.checksums and not changed
    if rule is None and record is not None and _changed(files, record, files.config):
        checked_config(files, record)
    if made.is_file():
        evaluation = read_evaluation(files, rule)
        if predictions.is_file() and not sure:
            table = read_predictions(predictions, evaluation.task)
            place = f"selected/{rule}: " if rule else ""
            wrong = [f"{place}{each}" for each in differences(evaluation, table)]
    if rule is None or evaluation is not None:
        _refuse(files, record, changed, wrong)
    return evaluation, table


def checked_evaluation(files: RunFolder) -> EvaluationRecord:
    """The evaluation of a finished run.

    Raises:
        InputError: If it is missing, or as `read_results`.
    """
    evaluation, _ = read_results(files, read_run_record(files))
    return evaluation or read_evaluation(files)


def checked_config(files: RunFolder, record: RunRecord) -> RunConfig:
    """The configuration of a run, which may name another place of the data or another device.

    Raises:
        InputError: If it is that of another run; names the keys.
    """
    config = load_config(files.config)
    wrong = unlike_config(config, record)
    if wrong:
        raise InputError(
            f"{files.config} was changed after training: {'; '.join(wrong)}. Restore the file, or "
            f"train the changed one: medldr train {files.config}"
        )
    return config


def unlike_config(config: RunConfig, record: RunRecord) -> list[str]:
    """How a configuration differs from the one that a run was trained with, in words.

    What is outside the hash may differ: where data lie, the device, and what only describes.
    """
    now, then = hashed_settings(config), record.settings
    keys = sorted(key for key in {*now, *then} if then and now.get(key) != then.get(key))
    pairs = {
        "hash": (run_hash(config), record.hash),
        "seed": (config.seed, record.seed),
        "label": (config.label, record.label),
    }
    said = [f"{key} is not what the run was trained with" for key in keys]
    return said + [f"{k} is now {n}, that of the run {t}" for k, (n, t) in pairs.items() if n != t]


def refuse_other_weights(files: RunFolder, record: RunRecord) -> None:
    """Check before weights are used that they and the record are those of the run.

    Scores of other weights, or beside another record, would look like those of this run.

    Raises:
        InputError: If a file was changed.
    """
    weights = (files.model, *map(files.selected, record.selections))
    refuse_changed(files, record, files.run, *weights)


def refuse_changed(files: RunFolder, record: RunRecord, *paths: Path) -> None:
    """Check before files of a run are read that they are as the run wrote them.

    Raises:
        InputError: If one was changed.
    """
    _refuse(files, record, _changed(files, record, *paths))


def keep_evaluation(files: RunFolder, changed: str) -> None:
    """Keep the evaluations of a run, with their checksums, before it is scored on other test data.

    They become ``evaluation.1.json`` and so on beside themselves, and the run has a note of it.

    Args:
        files: The run folder.
        changed: What has changed, in words.

    Raises:
        InputError: If one is not as the run left it.
    """
    record = read_run_record(files)
    known, kept = record.checksums or {}, dict[str, Path]()
    for path in map(files.evaluation_of, (None, *record.selections)):
        if not path.is_file():
            continue
        for name, what in _changed(files, record, path).items():
            raise InputError(
                f"{files.path / name} {what}, so it cannot be kept as the evaluation of before. "
                "Put it back, or remove it"
            )
        places = (path.with_name(KEPT.format(number)) for number in itertools.count(1))
        names = ((place.relative_to(files.path).as_posix(), place) for place in places)
        # One without its checksum was left by a kill, and may go.
        name, place = next(
            one for one in names if not (one[0] in known if known else one[1].exists())
        )
        write_text(place, read_text(path))
        kept[name] = place
    if known:
        known = {**known, **{name: checksum(place) for name, place in kept.items()}}
    note = (
        f"the test data has changed since training ({changed}), so the run was scored anew; its "
        f"evaluation of before is {next(iter(kept), 'not there')}"
    )
    add_to_run_record(files, checksums=known or None, notes=[*record.notes, note])


def copies_under_another_seed(records: Mapping[str, RunRecord]) -> dict[str, str]:
    """Runs whose weights or predictions another one has under another seed, each with that one.

    A run that was copied and renamed would count as a second seed that agrees with the first.

    Args:
        records: `run.json` of each run, by its name.
    """
    first: dict[str, tuple[str, int | None]] = {}
    found: dict[str, str] = {}
    for name, record in records.items():
        sums = record.checksums or {}
        weights = (record.validation_of or {"weights": sums.get(_WEIGHTS)}).get("weights")
        for made in filter(None, (weights, sums.get(_PREDICTIONS))):
            other, seed = first.setdefault(str(made), (name, record.seed))
            if seed != record.seed:
                found |= {name: other, other: found.get(other, name)}
    return found


def forget_scored(files: RunFolder) -> None:
    """Remove the checksums of what will be written when a finished run is scored again.

    A kill in between then leaves files without checksums, and none that seem to have been changed.
    """
    record = read_run_record(files)
    if record.checksums:
        add_to_run_record(files, checksums=_not_scored(files, record))


def note_scored(files: RunFolder) -> None:
    """Record the checksums of what was written when a finished run was scored again; others stay.

    The configuration was checked by its hash, and may name another place of the data or device.
    """
    record = read_run_record(files)
    if record.status != "done":
        return
    names = set(result_files(files))
    if record.checksums:  # a run that has none at all gets those of every file
        names = {name for name in names if _scored_now(files, record, name)}
    made = checksums_of(files, names)
    add_to_run_record(files, checksums={**_not_scored(files, record), **made})


def _not_scored(files: RunFolder, record: RunRecord) -> dict[str, str]:
    """The checksums of files that are not written when a run is scored again."""
    known = record.checksums or {}
    return {name: made for name, made in known.items() if not _scored_now(files, record, name)}


def _scored_now(files: RunFolder, record: RunRecord, name: str) -> bool:
    """Whether a file is written when a run is scored; rules without their weights are left out."""
    gone = {rule for rule in record.selections if not files.selected(rule).is_file()}
    return is_scored(name) and not gone & set(Path(name).parent.parts)


def _changed(files: RunFolder, record: RunRecord | None, *paths: Path) -> dict[str, str]:
    """What was done to each of these files; one that is missing is for the caller to miss."""
    if record is None:
        return {}
    names = [path.relative_to(files.path).as_posix() for path in paths]
    return {
        name: what
        for name, what in changes(files, record.content, names)
        if (files.path / name).is_file()
    }


def _refuse(
    files: RunFolder,
    record: RunRecord | None,
    changed: Mapping[str, str],
    wrong: Iterable[str] = (),
) -> None:
    """Refuse files that were changed, and numbers that do not follow from the predictions."""
    reasons = [*(f"{files.path / name} {what}" for name, what in changed.items()), *wrong]
    if not reasons:
        return
    shown = "; ".join(reasons[:SHOWN])
    lost = [name for name in changed if not is_scored(name)]
    cure = f"Score the run again with `medldr evaluate {files.path}`"
    if record is not None and record.validation_of:  # nobody but the site can make it again
        cure = "Put the original folder back, or have the site make it again (`medldr validate`)"
    elif lost:
        cure = f"Put the original {' and '.join(lost)} back, or train the run again with --restart"
    raise InputError(
        f"{files.path} is not as its run left it: {shown}. {cure}; "
        f"`medldr verify {files.path}` lists everything that differs"
    )
