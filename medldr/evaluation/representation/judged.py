"""What D and R do to a run's own classifier: the numbers, as `operators` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scipy.special import xlogy

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metric import Metric
from medldr.metrics import metric_facts

INF = float("inf")
ACCURACY, BALANCED = metric_facts("accuracy"), metric_facts("balanced_accuracy")
RECALL = metric_facts("recall")
ENTROPY = Metric(
    "entropy", "Entropy (nats)", "How undecided a prediction is: 0 if it is certain, and highest "
    "if all classes are equally likely.", better="", range=(0.0, INF),
)  # fmt: skip
TO_MIX = Metric(
    "to_mix", "Cross-entropy to the class mix (nats)", "How far predictions are from the class mix "
    "of the training images; no less than the entropy of that mix.", better="", range=(0.0, INF),
)  # fmt: skip
PROBABILITY = Metric(
    "probability", "Mean probability", "Mean of the predicted probability of a class.",
    percent=True, better="",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What the classifier makes of one view of some images.

    Attributes:
        accuracy: Share of right decisions; of several labels, the mean over labels.
        balanced: Balanced accuracy.
        by_class: Recall of each class or label.
        by_domain: Balanced accuracy in each domain.
        entropy: Mean entropy of the prediction, in nats.
        to_mix: Mean cross-entropy of the prediction to the class mix of training, in nats.
        mean: Mean predicted probability of each class.
    """

    accuracy: Estimate
    balanced: Estimate
    by_class: tuple[Estimate, ...]
    by_domain: Mapping[str, Estimate]
    entropy: Estimate
    to_mix: Estimate
    mean: tuple[Estimate, ...]


@dataclass(frozen=True)
class Part:
    """One split.

    Attributes:
        split: Its name.
        unseen: Whether its images are of domains that training has not seen.
        images: Number of images.
        groups: Groups that they are of; None where the data name no groups.
        views: By name.
        differences: Paired differences of balanced accuracy, (one, other): one minus other.
        chance: Balanced accuracy of guessing one of all classes at random.
        lacking: Classes without images, which balanced accuracy leaves out.
    """

    split: str
    unseen: bool
    images: int
    groups: int | None
    views: Mapping[str, Judged]
    differences: Mapping[tuple[str, str], Estimate]
    chance: float
    lacking: int = 0


@dataclass(frozen=True)
class Classified:
    """What D and R do to the decisions of a run's classifier.

    Attributes:
        class_names: One per class or label.
        parts: Training, seen domains, and test, as far as there are images.
        mix: Share of each class in the training images, the mean target of D; empty for several
            labels.
        several: Whether images have several labels.
    """

    class_names: tuple[str, ...]
    parts: tuple[Part, ...]
    mix: tuple[float, ...] = ()
    several: bool = False

    @property
    def last(self) -> Part:
        """The part that counts most: the test split where there is one."""
        return self.parts[-1]

    @property
    def floor(self) -> float | None:
        """Entropy of the class mix, in nats: the least that `Judged.to_mix` can be."""
        return float(-xlogy(self.mix, self.mix).sum()) if self.mix else None
