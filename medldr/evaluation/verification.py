"""Everything that can be checked of a finished run without its data.

Each file has the checksum that `run.json` holds, `run.json` its own, and all that `evaluation.json`
says is computed again from `predictions.csv`, with the bootstrap draws that it records. The records
must agree with each other: see `medldr.evaluation.chain`. Nothing is written, and nothing that a
folder names is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.progress import track

from medldr.config import EvaluationConfig
from medldr.config.sections import section
from medldr.config.yaml import read_yaml
from medldr.console import Console
from medldr.errors import InputError
from medldr.evaluation.agreement import differences, domains_seen, equal, leaves
from medldr.evaluation.chain import broken_links, not_followed, unscored
from medldr.evaluation.checked import copies_under_another_seed
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.from_predictions import evaluate
from medldr.evaluation.predictions.table import by_split, read_predictions
from medldr.folders.checksums import CHECKSUMS, MISSING, changes, is_stopped, result_files
from medldr.folders.evaluation_record import (
    EvaluationRecord,
    read_evaluation,
    read_evaluation_content,
)
from medldr.folders.files import RunFolder
from medldr.folders.lifecycle import run_folders
from medldr.folders.preprocessing_record import read_preprocessing
from medldr.folders.records import check_record
from medldr.folders.run_record import RunRecord, read_run_record

PREPROCESSING: Final = "preprocessing.json"


@dataclass(frozen=True)
class Verdict:
    """What was found of one run.

    Attributes:
        name: Name of its folder.
        files: How many files were compared with their checksum.
        numbers: How many numbers were computed again.
        differs: What is not as the run left it; empty for a run that can be trusted.
        remarks: What could not be checked, or may differ.
    """

    name: str
    files: int = 0
    numbers: int = 0
    differs: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verified:
    """What was found of the runs of a folder.

    Attributes:
        runs: A verdict on each finished run.
        unfinished: Names of the runs that have not finished, so were not verified.
        not_checked: Files beside the runs, or in the only one, that nothing here checks: pages,
            tables and plans.
    """

    runs: tuple[Verdict, ...]
    unfinished: tuple[str, ...]
    not_checked: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether anything is not as its run left it."""
        return any(verdict.differs for verdict in self.runs)


def verify(
    folder: Path | str, check: Callable[[RunFolder], Verdict | None] | None = None
) -> Verified:
    """Check that finished runs are as they were left; nothing is written.

    Args:
        folder: A run folder, a sweep folder, a folder of run folders, also of such as were moved
            aside, or a folder that `medldr export` wrote.
        check: Checks one of them; unset: `verify_run`.

    Raises:
        InputError: If it holds no finished run.
    """
    runs = run_folders(folder, aside=True)
    progress = Console(stderr=True)
    shown = track(runs, "verifying", console=progress, transient=True, disable=len(runs) < 2)
    if not runs and os.path.lexists(Path(folder) / PREPROCESSING):
        return Verified((_export(Path(folder)),), ())
    checked = [(files, (check or verify_run)(files)) for files in shown]
    unfinished = [files for files, verdict in checked if verdict is None]
    if len(unfinished) == len(checked):
        states = "; ".join(f"{r.path.name} is {read_run_record(r).status}" for r in unfinished)
        raise InputError(
            f"{folder} holds no finished run{f': {states}' if states else ''}. Give a folder that "
            "`medldr train` or `medldr sweep` wrote"
        )
    readable = {found.name: files for files, found in checked if found is not None and found.files}
    copies = copies_under_another_seed({name: read_run_record(f) for name, f in readable.items()})
    verdicts = []
    for verdict in (found for _, found in checked if found is not None):
        of = copies.get(verdict.name)
        said = (f"its weights or predictions are those of {of}, under another seed",) if of else ()
        verdicts.append(replace(verdict, differs=(*verdict.differs, *said)))
    names = tuple(files.path.name for files in unfinished)
    return Verified(tuple(verdicts), names, _not_checked(Path(folder)))


def _not_checked(folder: Path) -> tuple[str, ...]:
    """Files directly in a folder that have no checksum and are not compared with anything."""
    files = RunFolder(folder)
    known = {files.run.name, files.owner.name, *result_files(files)} if files.run.is_file() else ()
    names = (path.name for path in sorted(folder.iterdir()) if path.is_file())
    return tuple(name for name in names if name not in known and not name.startswith("."))


def _export(folder: Path) -> Verdict:
    """Whether a folder that `medldr export` wrote holds the program that it was written with."""
    name = folder.resolve().name
    try:
        record = read_preprocessing(folder / PREPROCESSING)
    except InputError as error:
        return Verdict(name, differs=(str(error),))
    files = len((record.model_extra or {}).get(CHECKSUMS) or ())
    return Verdict(name, files, remarks=() if files else (f"{PREPROCESSING} holds no checksums",))


def verify_run(files: RunFolder) -> Verdict | None:
    """Check one run; None if it has not finished.

    Args:
        files: Its folder. It may have been moved or copied from elsewhere.
    """
    name = files.path.resolve().name
    try:
        record = read_run_record(files)
    except InputError as error:
        return Verdict(name, differs=(str(error),))
    checksums = record.checksums or {}
    if record.status != "done" and not checksums:
        return None
    differs, remarks, left_out, numbers = list[str](), list[str](), list[str](), 0
    for file, what in changes(files, record.content):
        if what == MISSING and _may_be_left_out(files, file):
            left_out.append(file)
        else:
            differs.append(f"{file} {what}")
    if left_out:
        remarks.append(f"not in the folder, so not checked: {', '.join(left_out)}")
    if unchecked := not_followed(files):
        remarks.append(unchecked)
    if record.redacted:
        remarks.append(f"redacted, so not checked: {'; '.join(record.redacted)}")
    if not checksums:
        differs.append("run.json holds no checksums, so nothing shows that its files are its own")
    elif is_stopped(files, checksums):
        remarks.append(
            "the run was being scored again and this was stopped, so its scores have no checksums; "
            "score it with `medldr evaluate`"
        )
    others = [rule for rule in record.selections if files.evaluation_of(rule).is_file()]
    for rule in (None, *others):
        place = "" if rule is None else f"selected/{rule}: "
        both = files.evaluation_of(rule), files.predictions_of(rule)
        absent = [path.name for path in both if not path.is_file()]
        if absent:
            text = f"{place}{' and '.join(absent)} missing, so scores cannot be checked"
            # Someone who shares a run may leave the predictions of other rules out.
            (differs if rule is None else remarks).append(text)
            continue
        try:
            scores = _scored_again(files, record, rule)
        except InputError as error:
            differs.append(f"{place}{error}")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            differs.append(
                f"{place}scores cannot be computed again: {type(error).__name__}: {error}"
            )
        else:
            numbers += scores.numbers
            differs += [f"{place}{each}" for each in scores.differs]
            remarks += [f"{place}{each}" for each in scores.remarks]
    compared = {"run.json", *result_files(files)} & checksums.keys()
    return Verdict(name, len(compared), numbers, tuple(differs), tuple(remarks))


def _may_be_left_out(files: RunFolder, name: str) -> bool:
    """Whether someone who shares a run may leave a file out: weights, and all of other rules."""
    return name == files.model.name or name.startswith(("selected/", "stages/"))


def _scored_again(files: RunFolder, record: RunRecord, rule: str | None) -> Verdict:
    """The evaluation of the weights of a rule, made again with the draws that it records."""
    recorded, content = read_evaluation(files, rule), read_evaluation_content(files, rule)
    table = read_predictions(files.predictions_of(rule), recorded.task)
    points = {each.key: each for each in differences(recorded, table)}
    shots, gap = shots_of(recorded), recorded.gap
    config = read_yaml(files.config).values if files.config.is_file() else {}
    again = evaluate(
        by_split(table),
        evaluation_settings(recorded, section(config, "evaluation")),
        selection=content.get("selection"),
        seen=domains_seen(recorded),
        shared=[gap.seen] if gap is not None and gap.shared_groups else [],
        recalibrated=content.get("recalibration"),
        trained_on=None if shots is None else shots.counts,
    )
    every = list(leaves(content, again))
    others = {
        each.key: str(each)
        for each in every
        if not equal(each.recorded, each.computed) and each.key not in points
    }
    texts = tuple(others.values())
    differs = (*map(str, points.values()), *unscored(files, table))
    if rule is None:
        differs += tuple(broken_links(files, record, recorded, table))
    made, now = (each.get("intervals", {}).get("method") for each in (content, again))
    numbers, remarks = len(every), list[str]()
    if made != now:
        numbers -= len(others)
        remarks.append("its CIs were made by an older method, so they were not checked")
    else:
        differs += texts
    return Verdict(rule or "", numbers=numbers, differs=differs, remarks=tuple(remarks))


def evaluation_settings(
    recorded: EvaluationRecord, configured: Mapping[str, Any], **changed: Any
) -> EvaluationConfig:
    """The settings of an evaluation: those that it states, the rest from its configuration.

    Args:
        recorded: The evaluation.
        configured: The section ``evaluation`` of `config.yaml`; empty where there is none.
        changed: Settings that are to be others.

    Raises:
        InputError: If one cannot be used.
    """
    shots, point, specificity = recorded.shots, recorded.operating_point, recorded.specificity
    configured = {**configured, "primary": recorded.primary}
    how = recorded.by_group
    stated: dict[str, Any] = {
        "splits": tuple(recorded.splits),
        "bins": recorded.calibration.bins,
        "per_group": any("groups" in of.model_fields_set for of in recorded.splits.values()),
        "shots": None if shots is None else (shots.many, shots.few),
        "aggregate": "none" if how is None else how.aggregate,
    }
    if how is not None:
        stated["group_label"] = how.group_label
    if recorded.intervals is not None:
        stated |= {"draws": recorded.intervals.draws, "bootstrap_seed": recorded.intervals.seed}
    if recorded.positive_class is not None:
        stated["positive_class"] = recorded.positive_class
    if specificity is not None:
        stated |= {"specificity": specificity, "prevalence": point and point.prevalence}
    known = {key: v for key, v in configured.items() if key in EvaluationConfig.model_fields}
    cure = "Restore config.yaml and evaluation.json"
    return check_record({**known, **stated, **changed}, Path("evaluation"), EvaluationConfig, cure)
