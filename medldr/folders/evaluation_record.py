"""`evaluation.json`: how a run was evaluated, with an interval for every number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from medldr.folders.files import RunFolder, write_json
from medldr.folders.records import Record, check_record, read_content
from medldr.folders.run_record import Selection, Task

SCHEMA = 1


class Number(Record):
    """A metric with its interval.

    Attributes:
        value: None if it is undefined.
        low: Lower end of the interval; None if there is none.
        high: Upper end of the interval.
        reason: Why it is undefined, or a remark on a number that is defined.
        undefined_draws: Bootstrap draws missing from the interval; None if it uses all.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    undefined_draws: int | None = None


class ClassRecord(Record):
    """One class or label.

    Attributes:
        n: Its items, or positives.
        metrics: Recall, precision, F1, AUC.
    """

    n: int | None = None
    metrics: dict[str, Number] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _metrics_next_to_the_count(cls, content: Any) -> Any:
        if not isinstance(content, Mapping) or "metrics" in content:
            return content
        numbers = {key: value for key, value in content.items() if key != "n"}
        return {"n": content.get("n"), "metrics": numbers}


class DomainRecord(Record):
    """One domain of a split.

    Attributes:
        n: Items.
        n_groups: Groups.
        few_groups: Whether these are too few for reliable intervals.
        seen: Whether training images came from it.
        metrics: By name.
    """

    n: int | None = None
    n_groups: int | None = None
    few_groups: bool = False
    seen: bool = False
    metrics: dict[str, Number] = Field(default_factory=dict)


class PartRecord(Record):
    """A part of the held-out domains: target_in or target_out."""

    items: int | None = None
    metrics: dict[str, Number] = Field(default_factory=dict)


class GroupRecord(Record):
    """One group (patient, slide); its accuracy is None if no label is known."""

    n: int = 0
    correct: int | None = None
    domain: str | None = None
    accuracy: float | None = None


class Worst(Record):
    """The domain or group with the lowest accuracy."""

    name: str
    n: int | None = None
    accuracy: Number


class Curve(Record):
    """Points of a ROC curve."""

    fpr: list[float] = Field(default_factory=list)
    tpr: list[float] = Field(default_factory=list)


class Bins(Record):
    """A reliability diagram: mean confidence and observed accuracy of each bin."""

    confidence: tuple[float | None, ...] = ()
    accuracy: tuple[float | None, ...] = ()
    count: tuple[int | None, ...] = ()


class SplitRecord(Record):
    """One split.

    Attributes:
        n: Items.
        n_groups: Groups.
        unit: What the bootstrap draws: ``group`` or ``item``.
        few_groups: Whether there are too few groups for reliable intervals.
        absent_classes: Classes without an item, or labels without a positive.
        metrics: By name.
        classes: By class or label.
        domains: By domain.
        worst_domain: The domain with the lowest accuracy.
        worst_group: The group with the lowest accuracy, if groups were scored.
        groups: Each group, if groups were scored.
        parts: target_in and target_out, if domains were held out.
        confusion: ``K x K`` counts, rows are the truth; ``L x 2 x 2`` for multi-label.
        roc: ROC curves by class.
        reliability: The reliability diagram.
        reliability_positive: The diagram for the positive class of a binary task.
    """

    n: int = 0
    n_groups: int | None = None
    unit: str | None = None
    few_groups: bool = False
    absent_classes: tuple[str, ...] = ()
    metrics: dict[str, Number] = Field(default_factory=dict)
    classes: dict[str, ClassRecord] = Field(default_factory=dict)
    domains: dict[str, DomainRecord] = Field(default_factory=dict)
    worst_domain: Worst | None = None
    worst_group: Worst | None = None
    groups: dict[str, GroupRecord] = Field(default_factory=dict)
    parts: dict[str, PartRecord] = Field(default_factory=dict)
    confusion: list[Any] | None = None
    roc: dict[str, Curve | None] = Field(default_factory=dict)
    reliability: Bins | None = None
    reliability_positive: Bins | None = None

    @property
    def unseen(self) -> bool:
        """Whether it has domains, and no training images came from any of them."""
        return bool(self.domains) and not any(entry.seen for entry in self.domains.values())


class IntervalRecord(Record):
    """How the intervals were computed."""

    method: str = "percentile bootstrap"
    draws: int = 0
    seed: int = 0
    level: float = 0.95


class CalibrationRecord(Record):
    """How calibration was measured."""

    definition: str = "top-label"
    bins: int = 15


class OperatingPointRecord(Record):
    """The threshold of ``sensitivity_at_specificity`` and where it comes from."""

    specificity: float | None = None
    threshold: float | None = None
    split: str | None = None
    reason: str | None = None


class GapRecord(Record):
    """A seen split minus the test split.

    Attributes:
        seen: The seen split.
        unseen: The other one.
        metrics: By name.
        shared_groups: Whether the seen split shares groups with the training images.
        note: Why the gap is overestimated, if it is.
    """

    seen: str
    unseen: str = "test"
    metrics: dict[str, Number] = Field(default_factory=dict)
    shared_groups: bool = False
    note: str | None = None


class EvaluationRecord(Record):
    """`evaluation.json`; keys that an older version did not write have their defaults."""

    schema_: int = Field(SCHEMA, alias="schema")
    task: Task
    class_names: tuple[str, ...] = ()
    positive_class: str | None = None
    selection: Selection | None = None
    intervals: IntervalRecord | None = None
    calibration: CalibrationRecord = CalibrationRecord()
    operating_point: OperatingPointRecord | None = None
    definitions: dict[str, str] = Field(default_factory=dict)
    splits: dict[str, SplitRecord]
    gap: GapRecord | None = None
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> float:
        """Confidence level of the intervals, as a fraction."""
        return 0.95 if self.intervals is None else self.intervals.level


def cure(files: RunFolder) -> str:
    """What to do about an `evaluation.json` that cannot be read."""
    return f"Run `medldr evaluate {files.path}` to score the run again"


def read_evaluation(files: RunFolder, rule: str | None = None) -> EvaluationRecord:
    """Read `evaluation.json`, or the evaluation of the weights of another rule.

    Args:
        files: The run folder.
        rule: A rule other than the reported one.

    Raises:
        InputError: If it is missing or damaged, or has an unknown schema.
    """
    return _checked(read_evaluation_content(files, rule), files, rule)


def read_evaluation_content(files: RunFolder, rule: str | None = None) -> dict[str, Any]:
    """The file as plain values, as `medldr.evaluate` returns it.

    Raises:
        InputError: If it is missing or damaged.
    """
    return read_content(_path(files, rule), cure(files))


def write_evaluation(files: RunFolder, content: Mapping[str, Any], rule: str | None = None) -> None:
    """Write `evaluation.json`, whole or not at all, after a check that it can be read again."""
    _checked(content, files, rule)
    write_json(_path(files, rule), dict(content))


def _path(files: RunFolder, rule: str | None) -> Path:
    return files.evaluation if rule is None else files.evaluation_of(rule)


def _checked(content: Mapping[str, Any], files: RunFolder, rule: str | None) -> EvaluationRecord:
    known = (SCHEMA,) if "schema" in content else ()
    return check_record(content, _path(files, rule), EvaluationRecord, cure(files), known)
