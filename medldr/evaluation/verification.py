"""Everything that can be checked of a finished run without its data.

Each file has the checksum that `run.json` holds, `run.json` its own, and all that `evaluation.json`
says is computed again from `predictions.csv`, with the bootstrap draws that it records. Nothing is
written, and nothing that a folder names is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from medldr.config import EvaluationConfig
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.evaluation.agreement import Difference, differences, equal
from medldr.evaluation.evaluate import evaluate
from medldr.evaluation.frequency import shots_of
from medldr.evaluation.predictions.table import by_split, read_predictions
from medldr.folders import provenance
from medldr.folders.checksums import MISSING, changes, is_stopped, result_files
from medldr.folders.evaluation_record import (
    EvaluationRecord,
    read_evaluation,
    read_evaluation_content,
)
from medldr.folders.files import RunFolder
from medldr.folders.run_record import RunRecord, read_run_record

TEXTS = ("reason", "note", "notes", "method", "definition", "definitions")
"""Keys whose sentences another version may word differently."""
PLAIN = {"splits": "", "metrics": "", "value": "", "parts": "", "classes": "class",
         "domains": "domain", "groups": "group"}  # fmt: skip
"""Parts of a key of `evaluation.json` as they are called everywhere else."""


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
    if record.status != "done" and not record.checksums:
        return None
    differs, remarks, left_out, numbers = list[str](), list[str](), list[str](), 0
    for file, what in changes(files, record.content):
        if what == MISSING and _may_be_left_out(files, file):
            left_out.append(file)
        else:
            differs.append(f"{file} {what}")
    if left_out:
        remarks.append(f"not in the folder, so not checked: {', '.join(left_out)}")
    known = record.checksums or {}
    if not known:
        remarks.append("run.json holds no checksums: an older version of medldr wrote it")
    elif is_stopped(files, known):
        remarks.append(
            "the run was being scored again and this was stopped, so its scores have no checksums; "
            "score it with `medldr evaluate`"
        )
    for rule in (None, *_further(files, record)):
        found = _Scores(files, record, rule)
        numbers += found.numbers
        differs += found.differs
        remarks += found.remarks
    there = {"run.json", *result_files(files)}
    return Verdict(name, len(there & known.keys()), numbers, tuple(differs), tuple(remarks))


def _may_be_left_out(files: RunFolder, name: str) -> bool:
    """Whether someone who shares a run may leave a file out: weights, and all of other rules."""
    return name == files.model.name or name.startswith(("selected/", "stages/"))


def _further(files: RunFolder, record: RunRecord) -> list[str]:
    """Rules that are not reported and have an evaluation of their own."""
    return [rule for rule in record.selections if files.evaluation_of(rule).is_file()]


class _Scores:
    """The evaluation of the weights of one rule, made again.

    Args:
        files: The run folder.
        record: Its `run.json`.
        rule: A rule that is not reported; None: the reported one.
    """

    def __init__(self, files: RunFolder, record: RunRecord, rule: str | None) -> None:
        self.files, self.record, self.rule = files, record, rule
        self.place = "" if rule is None else f"selected/{rule}: "
        self.numbers = 0
        self.differs: list[str] = []
        self.remarks: list[str] = []
        path = files.predictions if rule is None else files.predictions_of(rule)
        evaluation = files.evaluation if rule is None else files.evaluation_of(rule)
        absent = [each.name for each in (evaluation, path) if not each.is_file()]
        if absent:
            said = f"{self.place}{' and '.join(absent)} missing, so scores cannot be checked"
            # Someone who shares a run may leave the predictions of other rules out.
            (self.differs if rule is None else self.remarks).append(said)
            return
        try:
            self._check(read_evaluation(files, rule), read_evaluation_content(files, rule), path)
        except InputError as error:
            self.differs.append(f"{self.place}{error}")
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self.differs.append(
                f"{self.place}scores cannot be computed again: {type(error).__name__}: {error}"
            )

    def _check(self, said: EvaluationRecord, content: dict[str, Any], path: Path) -> None:
        table = read_predictions(path, said.task)
        points = {found.key: found for found in differences(said, table)}
        shots = shots_of(said)
        again = evaluate(
            by_split(table),
            evaluation_settings(self.files, said, content),
            selection=content.get("selection"),
            seen={
                d for of in said.splits.values() for d, entry in of.domains.items() if entry.seen
            },
            shared=[said.gap.seen] if said.gap is not None and said.gap.shared_groups else [],
            recalibrated=content.get("recalibration"),
            trained_on=None if shots is None else shots.counts,
        )
        others = {}
        for found in _leaves(content, again):
            self.numbers += 1
            if not equal(found.said, found.found) and found.key not in points:
                others[found.key] = found
        self.differs += [f"{self.place}{found}" for found in points.values()]
        texts = [f"{self.place}{found}" for found in others.values()]
        if self._same_software(content, again):
            self.differs += texts
        elif texts:
            self.remarks.append(
                f"{self.place}{len(texts)} CIs and other numbers beside the point values are not "
                f"those of this version of medldr or of NumPy, for example {texts[0]}"
            )

    def _same_software(self, content: dict[str, Any], again: dict[str, Any]) -> bool:
        """Whether the numbers were made by the same method, packages and commit as now."""
        began = self.record.provenance  # of the training; older versions recorded no other
        scored = self.record.scored_with or provenance.scoring_part(
            began.get("packages") or {}, began.get("git")
        )
        methods = [each.get("intervals", {}).get("method") for each in (content, again)]
        return scored == provenance.scoring() and methods[0] == methods[1]


def evaluation_settings(
    files: RunFolder, said: EvaluationRecord, content: Mapping[str, Any]
) -> EvaluationConfig:
    """The settings of an evaluation: those that it states, the rest from `config.yaml`.

    Args:
        files: The run folder.
        said: The evaluation.
        content: The same as plain values, which show what was not written.

    Raises:
        InputError: If one cannot be used.
    """
    written: Mapping[str, Any] = {}
    if files.config.is_file():
        written = read_yaml(files.config).values.get("evaluation") or {}
    known = {k: v for k, v in dict(written).items() if k in EvaluationConfig.model_fields}
    stated: dict[str, Any] = {
        "splits": tuple(said.splits),
        "bins": said.calibration.bins,
        "per_group": any("groups" in of for of in content["splits"].values()),
    }
    if said.intervals is not None:
        stated |= {"draws": said.intervals.draws, "bootstrap_seed": said.intervals.seed}
    # An evaluation older than the key, or made without it, has no such numbers.
    stated["shots"] = None if said.shots is None else (said.shots.many, said.shots.few)
    if said.positive_class is not None:
        stated["positive_class"] = said.positive_class
    if said.operating_point is not None and said.operating_point.specificity is not None:
        stated["specificity"] = said.operating_point.specificity
    try:
        return EvaluationConfig.model_validate({**known, **stated})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise InputError(f"evaluation.{key} cannot be used: {first['msg']}") from error


def _leaves(said: Any, found: Any, key: tuple[str, ...] = ()) -> Iterator[Difference]:
    """Every value that both sides have, with its key; sentences are left out."""
    if isinstance(said, dict) and isinstance(found, dict):
        for name in (each for each in said if each in found and each not in TEXTS):
            part = PLAIN.get(name, name)
            yield from _leaves(said[name], found[name], (*key, part) if part else key)
    elif isinstance(said, list) and isinstance(found, list) and len(said) == len(found):
        for place, pair in enumerate(zip(said, found, strict=True)):
            yield from _leaves(*pair, (*key, str(place)))
    elif isinstance(said, list) and isinstance(found, list):
        yield Difference("/".join(key), f"{len(said)} values", f"{len(found)} values")
    else:
        yield Difference("/".join(key), said, found)
