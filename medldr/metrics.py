"""What a metric is: the one table of how each is computed, named, printed and explained.

A new metric is a row here, a function in `medldr.evaluation.metrics` that the row names, and an
independent reference in ``tests/reference/metrics``. The order of the rows is that of a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

TASKS: Final = ("multi-class", "binary", "ordinal", "multi-label")


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        name: Its key in `evaluation.json`.
        title: Its name in tables and figures.
        meaning: One plain sentence for the glossary of a page.
        percent: Printed as a percentage with one decimal, else as a number with three.
        better: ``higher``, ``lower``, or empty where neither is better.
        definition: How it is computed, as written to `evaluation.json`.
        function: Where it is computed, in `medldr.evaluation.metrics`: ``counts.decisions``. Empty
            where it is derived from other metrics.
        tasks: Kinds of labels that it is defined for.
        levels: What it is reported for: ``split``, ``class``, ``domain``.
        undefined: Why it has no value where the labels are known.
        cards: Tasks for which it is among the few large numbers of a page.
        range: The lowest and the highest value that it can have.
        calibration: Whether it evaluates the probabilities rather than the predicted classes.
        threshold: Whether it needs a threshold from the validation split.
        published: Whether published tables report it.
        selects: Whether ``training.select`` can name it.
        over_domains: Whether it is a mean over domains.
        short: Its title for a narrow terminal; empty: the title.
        aliases: Other keys that mean it.
    """

    name: str
    title: str
    meaning: str
    percent: bool = False
    better: str = "higher"
    definition: str = ""
    function: str = ""
    tasks: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("split",)
    undefined: str = ""
    cards: tuple[str, ...] = ()
    range: tuple[float, float] = (0.0, 1.0)
    calibration: bool = False
    threshold: bool = False
    published: bool = False
    selects: bool = False
    over_domains: bool = False
    short: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """Title with its unit.

        Example:
            >>> metric_facts("accuracy").heading, metric_facts("auc").heading
            ('Accuracy (%)', 'AUC')
        """
        return f"{self.title} (%)" if self.percent else self.title

    @property
    def short_heading(self) -> str:
        """Heading for a narrow terminal.

        Example:
            >>> metric_facts("mae").short_heading, metric_facts("accuracy").short_heading
            ('Abs. error', 'Accuracy (%)')
        """
        if not self.short:
            return self.heading
        return f"{self.short} (%)" if self.percent else self.short

    def show(self, value: float) -> str:
        """Print a value in this metric's unit.

        Example:
            >>> metric_facts("accuracy").show(0.7349), metric_facts("auc").show(0.5)
            ('73.5', '0.500')
        """
        text = f"{100 * value:.1f}" if self.percent else f"{value:.3f}"
        return text[1:] if text.startswith("-") and not text.strip("-0.") else text

    def with_unit(self, value: float) -> str:
        """Print a value as it is written in a sentence.

        Example:
            >>> metric_facts("accuracy").with_unit(0.7349), metric_facts("auc").with_unit(0.5)
            ('73.5%', '0.500')
        """
        return f"{self.show(value)}%" if self.percent else self.show(value)

    def show_difference(self, value: float) -> str:
        """Print a difference with its sign, a real minus and no hyphen, as wide as a plus.

        Example:
            >>> accuracy, ece = metric_facts("accuracy"), metric_facts("ece")
            >>> accuracy.show_difference(0.05), ece.show_difference(-0.01)
            ('+5.0', '−0.010')
        """
        text = self.show(value)
        return f"−{text[1:]}" if text.startswith("-") else f"+{text}"


_BINARY: Final = ("binary",)

_TABLE: Final = (
    Metric(
        "accuracy", "Accuracy",
        "Share of images classified correctly. With several labels per image: the mean over "
        "labels of the share of correct predictions at a probability threshold of 0.5.",
        percent=True, function="counts.decisions", tasks=TASKS, levels=("split", "domain"),
        definition="share of correct predictions; multi-label: mean over labels, threshold 0.5",
        cards=TASKS, published=True, selects=True, aliases=("acc",),
    ),
    Metric(
        "auc", "AUC",
        "Area under the ROC curve: the probability that an image with the finding gets a higher "
        "score than one without it, averaged over classes where there are several. "
        "0.5 is chance level, 1 is perfect. No threshold is needed.",
        function="ranking.areas", tasks=TASKS, levels=("split", "class", "domain"),
        definition="area under the ROC curve; unweighted mean over classes (one versus rest) or "
        "labels",
        undefined="only one class in the labels",
        cards=TASKS, published=True, selects=True,
    ),
    Metric(
        "balanced_accuracy", "Balanced accuracy",
        "Mean recall over the classes that occur; rare classes count as much as frequent ones.",
        percent=True, function="counts.decisions", tasks=TASKS, levels=("split", "domain"),
        definition="mean recall over the classes that occur; multi-label: mean over labels of "
        "(sensitivity + specificity) / 2",
        undefined="no label with both positives and negatives",
        cards=("multi-class",), selects=True, short="Bal. acc.",
    ),
    Metric(
        "macro_f1", "Macro F1",
        "Mean of F1, the harmonic mean of precision and recall, over the classes that occur in the "
        "labels or the predictions.",
        function="counts.decisions", tasks=TASKS, selects=True,
        definition="mean F1 over the classes that occur in the labels or the predictions",
        undefined="no class in the labels or the predictions",
    ),
    Metric(
        "exact_match", "Exact match", "Share of images with every label predicted correctly.",
        percent=True, function="counts.decisions", tasks=("multi-label",), cards=("multi-label",),
        definition="share of items with every known label predicted correctly", short="Exact",
    ),
    Metric(
        "sensitivity", "Sensitivity",
        "Share of positive cases that are detected when the more probable class is predicted.",
        percent=True, function="counts.decisions", tasks=_BINARY,
        definition="recall of the positive class", undefined="no such class in the labels",
    ),
    Metric(
        "specificity", "Specificity",
        "Share of negative cases classified as negative when the more probable class is predicted.",
        percent=True, function="counts.decisions", tasks=_BINARY,
        definition="recall of the negative class", undefined="no other class in the labels",
    ),
    Metric(
        "sensitivity_at_specificity", "Sensitivity at fixed specificity",
        "Sensitivity at the threshold that reaches the requested specificity on the validation "
        "split.",
        percent=True, function="operating_point.at_point", tasks=_BINARY, threshold=True,
        definition="sensitivity at the threshold that reaches the requested specificity on the "
        "validation split",
        undefined="no such class in the labels", cards=_BINARY, short="Sens. at spec.",
    ),
    Metric(
        "specificity_at_threshold", "Specificity at the chosen threshold",
        "Specificity reached on this split with the threshold chosen on the validation split.",
        percent=True, function="operating_point.at_point", tasks=_BINARY, threshold=True,
        definition="specificity reached on this split at that threshold",
        undefined="no other class in the labels",
    ),
    Metric(
        "quadratic_kappa", "Quadratic kappa",
        "Agreement beyond chance on an ordered scale; an error of two grades weighs four times as "
        "much as an error of one.",
        function="ordinal.distances", tasks=("ordinal",), cards=("ordinal",), short="Kappa",
        definition="Cohen's kappa of ordered classes with quadratic weights",
        undefined="labels and predictions are all one class", aliases=("kappa",),
        range=(-1.0, 1.0),
    ),
    Metric(
        "mae", "Mean absolute error", "Mean distance from the true grade, in grades.",
        better="lower", function="ordinal.distances", tasks=("ordinal",), cards=("ordinal",),
        definition="mean distance between label and prediction, in classes", short="Abs. error",
        range=(0.0, inf),
    ),
    Metric(
        "ece", "ECE",
        "Expected calibration error: mean gap between predicted confidence and observed accuracy; "
        "0 means well calibrated. Resampling inflates it, so its interval may be entirely above "
        "the value.",
        better="lower", calibration=True, function="calibration.decided_error", tasks=TASKS,
        levels=("split", "domain"), cards=("multi-class", "binary", "multi-label"),
        definition="calibration error of the predicted class (multi-label: mean over labels); "
        "resampling inflates it, so its interval may be above the value",
    ),
    Metric(
        "ece_positive", "ECE, positive class",
        "The same gap for the predicted probability of the positive class, whichever class is "
        "predicted.",
        better="lower", calibration=True, function="calibration.positive_error", tasks=_BINARY,
        definition="calibration error of the positive class's probability",
    ),
    Metric(
        "brier", "Brier score",
        "Mean squared difference between predicted probability and outcome.",
        better="lower", calibration=True, function="calibration.likelihoods", tasks=TASKS,
        definition="squared error of the probabilities, summed over classes; binary and "
        "multi-label: of one probability",
        range=(0.0, 2.0),
    ),
    Metric(
        "nll", "NLL",
        "Negative log-likelihood (natural logarithm); penalises confident errors most.",
        better="lower", calibration=True, function="calibration.likelihoods", tasks=TASKS,
        definition="mean negative log probability of the label",
        range=(0.0, inf),
    ),
    Metric(
        "recall", "Recall", "Of the images of a class, the share predicted as that class.",
        percent=True, function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="no such class in the labels",
    ),
    Metric(
        "precision", "Precision",
        "Of the images predicted as a class, the share that belongs to it.",
        percent=True, function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="never predicted",
    ),
    Metric(
        "f1", "F1", "Harmonic mean of precision and recall of one class.",
        function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="neither in the labels nor predicted",
    ),
    Metric(
        "worst_domain", "Worst domain accuracy",
        "Accuracy in the domain (hospital, scanner) where it is lowest.",
        percent=True, levels=(), definition="lowest accuracy of any domain",
        aliases=("worst_domain_accuracy",),
    ),
    Metric(
        "worst_group", "Worst group accuracy",
        "Accuracy in the group (slide, patient) where it is lowest. Each bootstrap draw takes the "
        "worst of the groups it sampled, so the interval is at or above the value.",
        percent=True, levels=(),
        definition="lowest accuracy of any group (slide, patient) that has items; each bootstrap "
        "draw takes the worst of the groups it sampled, so its interval is at or above the value",
        aliases=("worst_group_accuracy",),
    ),
    Metric(
        "loss", "Loss", "The quantity that training minimises.",
        better="lower", levels=(), selects=True, range=(0.0, inf),
    ),
    Metric(
        "domain_accuracy", "Mean domain accuracy", "Unweighted mean of the domains' accuracies.",
        percent=True, levels=(), selects=True, over_domains=True,
    ),
    Metric(
        "domain_loss", "Mean domain loss", "Unweighted mean of the domains' losses.",
        better="lower", levels=(), selects=True, over_domains=True, range=(0.0, inf),
    ),
)  # fmt: skip

METRICS: Final[Mapping[str, Metric]] = {metric.name: metric for metric in _TABLE}
ALIASES: Final[Mapping[str, str]] = {
    alias: metric.name for metric in _TABLE for alias in metric.aliases
}


def metric_facts(name: str) -> Metric:
    """The metric of this key; an unknown key is printed as it is, with three decimals.

    Args:
        name: A key, also with slashes in front: ``test/unseen/accuracy``.

    Example:
        >>> metric_facts("test/auc").title, metric_facts("dice_score").title
        ('AUC', 'Dice score')
    """
    key = name.rsplit("/", 1)[-1]
    key = ALIASES.get(key, key)
    unknown = Metric(key, key.replace("_", " ").capitalize(), "", better="", levels=())
    return METRICS.get(key, unknown)
