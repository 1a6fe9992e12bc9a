"""What `evaluation.json` holds beside its scores: curves and counts, and how a run was scored."""

from __future__ import annotations

from pydantic import Field

from medldr.folders.records import Record


class Curve(Record):
    """Points of a ROC curve."""

    fpr: tuple[float, ...] = ()
    tpr: tuple[float, ...] = ()


class PrecisionRecall(Record):
    """Points of a precision-recall curve, and the share of positives, which is chance level."""

    recall: tuple[float, ...] = ()
    precision: tuple[float, ...] = ()
    prevalence: float | None = None


class DecisionCurve(Record):
    """Net benefit at each threshold, of the predictions and of acting on all images."""

    threshold: tuple[float, ...] = ()
    model: tuple[float, ...] = ()
    treat_all: tuple[float, ...] = ()


class RiskCoverage(Record):
    """Error among the most confident images, by the share of images that they are."""

    coverage: tuple[float, ...] = ()
    error: tuple[float, ...] = ()


class Bins(Record):
    """A reliability diagram: mean confidence and observed accuracy of each bin."""

    confidence: tuple[float | None, ...] = ()
    accuracy: tuple[float | None, ...] = ()
    count: tuple[int | None, ...] = ()


class CalibrationCurve(Record):
    """Observed frequency of a class as a smooth function of its predicted probability.

    Attributes:
        predicted: Predicted probabilities; empty where there is no curve.
        observed: The curve.
        low: Lower end of its band.
        high: Upper end of its band.
        knots: Of the spline; 0 for a straight line in the logit.
        reason: Why there is no curve.
        bins: The same without a model, in bins.
    """

    predicted: tuple[float, ...] = ()
    observed: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    knots: int = 0
    reason: str | None = None
    bins: Bins = Bins()


class ClassCount(Record):
    """How often a class occurs.

    Attributes:
        n: Its items.
        n_groups: Groups with such an item.
        known: Items whose label is known.
    """

    n: int = 0
    n_groups: int = 0
    known: int = 0


class Decisions(Record):
    """Right and wrong decisions of a binary test at its threshold."""

    true_positives: int = 0
    false_negatives: int = 0
    false_positives: int = 0
    true_negatives: int = 0


class IntervalRecord(Record):
    """How the intervals were computed.

    Attributes:
        method: In words.
        draws: Bootstrap draws.
        seed: Their seed.
        level: Confidence level, as a fraction.
    """

    method: str = "percentile bootstrap"
    draws: int = 0
    seed: int = 0
    level: float = 0.95


class CalibrationRecord(Record):
    """How calibration was measured."""

    definition: str = "top-label"
    bins: int = 15


class OperatingPoint(Record):
    """The threshold of ``sensitivity_at_specificity`` and where it comes from.

    Attributes:
        specificity: The requested one.
        threshold: Items strictly above it are called positive; None where there is none.
        split: The split it comes from.
        reason: Why there is no threshold.
        prevalence: Stated share of positives where the test will be used; None if not stated.
    """

    specificity: float | None = None
    threshold: float | None = None
    split: str | None = None
    reason: str | None = None
    prevalence: float | None = None


class GroupScoring(Record):
    """How groups (patients, slides) were scored beside images.

    Attributes:
        aggregate: What a group's images give: ``mean``, ``max`` or ``share``.
        group_label: What a group with images of different labels is: ``refuse`` or ``any``.
        operating_point: The threshold of a binary task, from the groups of the validation split.
        operating_points: The same of each label of a multi-label task.
    """

    aggregate: str
    group_label: str = "refuse"
    operating_point: OperatingPoint | None = None
    operating_points: dict[str, OperatingPoint] = Field(default_factory=dict)


class ShotsRecord(Record):
    """Which classes are frequent and which are rare.

    Attributes:
        many: Classes with more training images than this are frequent.
        few: Classes with fewer training images than this are rare.
        counts: Training images by class.
        buckets: ``many``, ``medium`` or ``few`` by class.
    """

    many: int
    few: int
    counts: dict[str, int] = Field(default_factory=dict)
    buckets: dict[str, str] = Field(default_factory=dict)


class Recalibration(Record):
    """How the probabilities of one set of weights were recalibrated.

    Attributes:
        method: ``temperature``.
        temperature: What the logits were divided by, above 1 where the network was too confident;
            None if there is none.
        low: Lower end of its interval; None if there is none.
        high: Upper end.
        split: The split it was fitted on.
        n: Images of that split.
        n_groups: Their groups; None where there are none.
        reason: Why there is no temperature, or no interval of it.
    """

    method: str
    temperature: float | None = None
    low: float | None = None
    high: float | None = None
    split: str | None = None
    n: int | None = None
    n_groups: int | None = None
    reason: str | None = None

    @property
    def size(self) -> str:
        """What it was fitted on, in words.

        Example:
            >>> Recalibration(method="temperature", n=6, n_groups=3).size
            '6 images of 3 groups'
        """
        groups = "" if self.n_groups is None else f" of {self.n_groups:,} groups"
        return f"{self.n or 0:,} images{groups}"

    @property
    def interval(self) -> str:
        """Its interval in words, or why it has none; empty where nothing is recorded of it.

        Example:
            >>> Recalibration(method="temperature", temperature=10.8, low=0.1, high=100).interval
            '95% CI 0.1 to 100'
        """
        if self.low is None or self.high is None:
            return self.reason or ""
        return f"95% CI {self.low:.3g} to {self.high:.3g}"

    @property
    def note(self) -> str:
        """What readers of the numbers should know."""
        if self.temperature is None:
            return (
                f"Recalibration: {self.reason}, so the probabilities are as the network gave them."
            )
        interval = f" ({self.interval})" if self.interval else ""
        return (
            f"The probabilities were recalibrated with temperature {self.temperature:.3g}"
            f"{interval}, fitted on {self.split} ({self.size})."
        )


class Worsened(Record):
    """A calibration metric that recalibration made worse.

    Attributes:
        split: The split.
        domain: The domain; empty for a split without any.
        metric: ``nll`` or ``ece``.
        before: Of the original probabilities.
        after: Of the recalibrated ones.
    """

    split: str
    domain: str = ""
    metric: str
    before: float
    after: float

    @property
    def note(self) -> str:
        """What readers of the numbers should know.

        Example:
            >>> Worsened(split="test", domain="h2", metric="nll", before=0.5, after=0.75).note
            'Recalibration made NLL worse on test, h2: 0.500 before, 0.750 after.'
        """
        place = f"{self.split}, {self.domain}" if self.domain else self.split
        return (
            f"Recalibration made {self.metric.upper()} worse on {place}: {self.before:.3f} before, "
            f"{self.after:.3f} after."
        )


class RecalibrationRecord(Recalibration):
    """A recalibration, and what it changed.

    Attributes:
        before: Calibration metrics of the original probabilities, by split.
        worsened: What it made worse on splits that it was not fitted on.
    """

    before: dict[str, dict[str, float | None]] = Field(default_factory=dict)
    worsened: tuple[Worsened, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """How the probabilities were made, and where that did harm."""
        return self.note, *(each.note for each in self.worsened)
