"""What `evaluation.json` holds for the figures of a split, and counts that need no interval."""

from __future__ import annotations

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
