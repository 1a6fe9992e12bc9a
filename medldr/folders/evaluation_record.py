"""`evaluation.json`: how a run was evaluated, with an interval for every number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from pydantic import AliasChoices, Field, model_validator

from medldr.folders.evaluation_parts import (
    Bins,
    CalibrationCurve,
    CalibrationRecord,
    ClassCount,
    Curve,
    DecisionCurve,
    Decisions,
    GroupScoring,
    OperatingPoint,
    PrecisionRecall,
    RiskCoverage,
    ShotsRecord,
)
from medldr.folders.evaluation_parts import IntervalRecord as IntervalRecord
from medldr.folders.evaluation_parts import RecalibrationRecord as RecalibrationRecord
from medldr.folders.files import RunFolder, write_json
from medldr.folders.records import Record, check_record, read_content
from medldr.folders.run_record import Selection
from medldr.folders.scores import Number as Number
from medldr.folders.scores import ScoreFrame, ScoreRow
from medldr.metrics import BY_GROUP
from medldr.types import Task

SCHEMA = 1


class PartRecord(Record):
    """A part of the held-out domains of a split: target_in or target_out.

    Attributes:
        n: Items; ``items`` in the file.
        metrics: By name.
    """

    n: int | None = Field(None, validation_alias=AliasChoices("n", "items"))
    metrics: dict[str, Number] = Field(default_factory=dict)


class ClassRecord(PartRecord):
    """One class or label: its items, or positives, and its recall, precision, F1 and AUC."""

    @model_validator(mode="before")
    @classmethod
    def _metrics_next_to_the_count(cls, content: Any) -> Any:
        if not isinstance(content, Mapping) or "metrics" in content:
            return content
        numbers = {key: value for key, value in content.items() if key != "n"}
        return {"n": content.get("n"), "metrics": numbers}


class DomainRecord(PartRecord):
    """One domain of a split.

    Attributes:
        n_groups: Groups.
        few_groups: Whether these are too few for reliable intervals.
        seen: Whether training images came from it.
        class_counts: By class or label.
    """

    n_groups: int | None = None
    few_groups: bool = False
    seen: bool = False
    class_counts: dict[str, ClassCount] = Field(default_factory=dict)


class SubgroupRecord(PartRecord):
    """One subgroup: the items with one value of a column, or with a number in one band.

    One is of all values that few items or groups have, without their names. Items and groups are
    None where they are fewer than ten, and metrics are empty where it was only counted.

    Attributes:
        n_groups: Groups.
        few_groups: Whether these are too few for reliable intervals.
        classes: Its items by class, or positives by label; empty if it was only counted.
        reason: Why it was only counted; None if it was scored.
    """

    n_groups: int | None = None
    few_groups: bool = False
    classes: dict[str, int] = Field(default_factory=dict)
    reason: str | None = None


class SubgroupGap(Record):
    """Largest minus smallest value of a metric, which subgroups have them, and of how many."""

    value: float
    lowest: str
    highest: str
    of: int


class DivisionRecord(Record):
    """The subgroups of one column of the metadata.

    Attributes:
        how: ``values``, ``bands`` or ``tertiles``.
        edges: Where a column of numbers was cut; each belongs to the band above it.
        missing: Items without a value.
        values: Each subgroup, in page order.
        gaps: By metric.
    """

    how: str = "values"
    edges: tuple[float, ...] = ()
    missing: int = 0
    values: dict[str, SubgroupRecord] = Field(default_factory=dict)
    gaps: dict[str, SubgroupGap] = Field(default_factory=dict)


class CalibrationFit(Record):
    """Calibration intercept and slope of one class.

    Attributes:
        n: Items of the class.
        moved: Probabilities of 0 or 1, which were moved so that they have a logit.
    """

    n: int | None = None
    moved: int = 0
    calibration_intercept: Number = Number()
    calibration_slope: Number = Number()


class GroupRecord(Record):
    """One group (patient, slide); its accuracy is None if no label is known."""

    n: int = 0
    correct: int | None = None
    domain: str | None = None
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None


class Worst(Record):
    """The domain or group with the lowest accuracy."""

    name: str
    n: int | None = None
    accuracy: Number


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
        subgroups: By column of the metadata, for the split that leads a page.
        confusion: ``K x K`` counts, rows are the truth; ``L x 2 x 2`` for multi-label.
        roc: ROC curves by class.
        reliability: The reliability diagram.
        reliability_positive: The diagram for the positive class of a binary task.
        class_counts: By class or label.
        calibration_fit: Intercept and slope by class; binary: of the positive class.
        calibration_curves: By class, where there are few.
        error_at_coverage: Error among the most confident images, by their percentage.
        decisions: Of a binary task, at its threshold.
        confusion_at_thresholds: ``L x 2 x 2`` counts of a multi-label task, each label decided at
            its own threshold, or at 0.5 where it has none.
        at_prevalence: Predictive values at the stated prevalence.
        precision_recall: Curves by class.
        roc_by_domain: Of a binary task.
        risk_coverage: Error among the most confident images, as a curve.
        decision_curve: Net benefit of a binary task.
        decision_curves: Net benefit by label of a multi-label task.
        by_group: The same of groups in place of images, if `evaluation.aggregate` asked for it.
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
    subgroups: dict[str, DivisionRecord] = Field(default_factory=dict)
    confusion: list[Any] | None = None
    roc: dict[str, Curve | None] = Field(default_factory=dict)
    reliability: Bins | None = None
    reliability_positive: Bins | None = None
    class_counts: dict[str, ClassCount] = Field(default_factory=dict)
    calibration_fit: dict[str, CalibrationFit] = Field(default_factory=dict)
    calibration_curves: dict[str, CalibrationCurve] = Field(default_factory=dict)
    error_at_coverage: dict[str, Number] = Field(default_factory=dict)
    decisions: Decisions | None = None
    confusion_at_thresholds: list[Any] | None = None
    at_prevalence: dict[str, Number] = Field(default_factory=dict)
    precision_recall: dict[str, PrecisionRecall] = Field(default_factory=dict)
    roc_by_domain: dict[str, Curve] = Field(default_factory=dict)
    risk_coverage: RiskCoverage | None = None
    decision_curve: DecisionCurve | None = None
    decision_curves: dict[str, DecisionCurve] = Field(default_factory=dict)
    by_group: SplitRecord | None = None

    @property
    def decided(self) -> list[Any] | None:
        """The confusion matrix of what is decided: of labels at their thresholds."""
        return self.confusion_at_thresholds or self.confusion

    def rows(self, split: str, rule: str) -> Iterator[ScoreRow]:
        """Its numbers as rows of the frame.

        Args:
            split: Its name.
            rule: The rule that chose the weights.
        """
        for place, n, numbers in self._places():
            for metric, number in numbers.items():
                yield ScoreRow(
                    split, metric, number.value, number.low, number.high, number.reason, n,
                    rule=rule, undefined_draws=number.undefined_draws, noise=number.noise, **place,
                )  # fmt: skip
        for name, group in self.groups.items():
            yield ScoreRow(
                split, "accuracy", group.accuracy, group.low, group.high,
                n=group.n, group=name, rule=rule,
            )  # fmt: skip
        if self.by_group is not None:
            for row in self.by_group.rows(split, rule):
                yield row._replace(metric=f"{BY_GROUP}{row.metric}")

    def _places(self) -> Iterator[tuple[dict[str, str], int | None, Mapping[str, Number]]]:
        """Each place but groups: the columns that name it, its items, and its numbers."""
        coverage = {f"coverage/{p}/error": of for p, of in self.error_at_coverage.items()}
        yield {}, self.n, {**self.metrics, **self.at_prevalence, **coverage}
        for name, worst in (("domain", self.worst_domain), ("group", self.worst_group)):
            if worst is not None:
                yield {}, worst.n, {f"worst_{name}/accuracy": worst.accuracy}
        for name, part in self.parts.items():
            yield {"part": name}, part.n, part.metrics
        for name, domain in self.domains.items():
            yield {"domain": name}, domain.n, domain.metrics
        for name, of in self.classes.items():
            yield {"class_": name}, of.n, of.metrics
        for name, fit in self.calibration_fit.items():
            line = {"intercept": fit.calibration_intercept, "slope": fit.calibration_slope}
            yield {"class_": name}, fit.n, {f"calibration_{key}": of for key, of in line.items()}
        for column, division in self.subgroups.items():
            for value, subgroup in division.values.items():
                yield {"subgroup": f"{column}/{value}"}, subgroup.n, subgroup.metrics

    @property
    def unseen(self) -> bool:
        """Whether it has domains, and no training images came from any of them."""
        return bool(self.domains) and not any(entry.seen for entry in self.domains.values())


class GapRecord(Record):
    """A seen split minus the test split.

    Attributes:
        seen: The seen split.
        unseen: The other one.
        metrics: By name.
        shared_groups: Whether the seen split shares groups with the training images.
        note: What else the gap may come from; None if nothing is known.
    """

    seen: str
    unseen: str = "test"
    metrics: dict[str, Number] = Field(default_factory=dict)
    shared_groups: bool = False
    note: str | None = None


class LeaksRecord(Record):
    """What latents tell of the domain of patients who were held back.

    Attributes:
        split: The split of these patients; those of ``train`` were held back from the probe alone.
        domains: How many domains are told apart.
        fitted: Training images that the probe was fitted on.
        n: Held-back images.
        n_groups: Their groups; None where they have none.
        metrics: By name; see `medldr.evaluation.representation.leaks`.
    """

    split: str
    domains: int
    fitted: int
    n: int
    n_groups: int | None = None
    metrics: dict[str, Number] = Field(default_factory=dict)


class EvaluationRecord(Record):
    """`evaluation.json`; what not every evaluation writes has a default.

    Of a binary task `operating_point` is the threshold, of a multi-label one `operating_points` by
    label.
    """

    schema_: int = Field(SCHEMA, alias="schema")
    task: Task
    class_names: tuple[str, ...] = ()
    positive_class: str | None = None
    primary: str | None = None
    selection: Selection | None = None
    intervals: IntervalRecord | None = None
    calibration: CalibrationRecord = CalibrationRecord()
    operating_point: OperatingPoint | None = None
    operating_points: dict[str, OperatingPoint] = Field(default_factory=dict)
    recalibration: RecalibrationRecord | None = None
    by_group: GroupScoring | None = None
    shots: ShotsRecord | None = None
    definitions: dict[str, str] = Field(default_factory=dict)
    splits: dict[str, SplitRecord]
    gap: GapRecord | None = None
    leaks: LeaksRecord | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def scores(self) -> ScoreFrame:
        """Every number of its splits, then those of latents."""
        rule = "" if self.selection is None else self.selection.rule
        rows = [row for split, of in self.splits.items() for row in of.rows(split, rule)]
        if (told := self.leaks) is not None:
            # A part of the split, whose own rows are of all its images.
            rows += [
                ScoreRow(told.split, key, of.value, of.low, of.high, of.reason, told.n, rule=rule)
                for key, of in told.metrics.items()
            ]
        return ScoreFrame(tuple(rows))

    @property
    def specificity(self) -> float | None:
        """The one that its thresholds were chosen for; None where it has none."""
        points = (self.operating_point, *self.operating_points.values())
        return next((point.specificity for point in points if point is not None), None)

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
    return read_content(files.evaluation_of(rule), cure(files))


def write_evaluation(files: RunFolder, content: Mapping[str, Any], rule: str | None = None) -> None:
    """Write `evaluation.json`, whole or not at all, after a check that it can be read again."""
    _checked(content, files, rule)
    write_json(files.evaluation_of(rule), dict(content))


def _checked(content: Mapping[str, Any], files: RunFolder, rule: str | None) -> EvaluationRecord:
    known = (SCHEMA,) if "schema" in content else ()
    return check_record(content, files.evaluation_of(rule), EvaluationRecord, cure(files), known)
