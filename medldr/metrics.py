"""What a metric is: the one table of how each is computed, named, printed and explained.

A new metric is a row here, a function in `medldr.evaluation.metrics` that the row names, and an
independent reference in ``tests/reference/metrics``. The order of the rows is that of a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf
from typing import Final

from medldr.metric import Metric

__all__ = ["ALIASES", "BY_GROUP", "METRICS", "TASKS", "Metric", "metric_facts", "other_half"]

TASKS: Final = ("multi-class", "binary", "ordinal", "multi-label")

_BINARY: Final = ("binary",)
_CLASSES: Final = ("multi-class", "ordinal")
_TABLE: Final = (
    Metric(
        "accuracy", "Accuracy",
        "Share of images classified correctly. With several labels per image: the mean over "
        "labels of the share of correct predictions at a probability threshold of 0.5.",
        percent=True, share="items",
        function="counts.decisions", tasks=TASKS, levels=("split", "domain"),
        definition="share of correct predictions; multi-label: mean over labels, threshold 0.5",
        cards=TASKS, published=True, selects=True, aliases=("acc",),
    ),
    Metric(
        "auc", "AUC",
        "Area under the ROC curve: the probability that an image with the finding gets a higher "
        "score than one without it, averaged over classes where there are several. "
        "0.5 is chance level, 1 is perfect. No threshold is needed.",
        area=True, function="ranking.areas", tasks=TASKS, levels=("split", "class", "domain"),
        definition="area under the ROC curve; unweighted mean over classes (one versus rest) or "
        "labels",
        undefined="only one class in the labels", cards=TASKS, published=True, selects=True,
    ),
    Metric(
        "auprc", "AUPRC",
        "Area under the precision-recall curve (average precision): the mean share of true "
        "findings among flagged images, over all thresholds; chance level is the share of images "
        "with the finding. Averaged over classes where there are several.",
        area=True, function="precision_recall.areas", tasks=TASKS, levels=("split", "class"),
        definition="average precision without interpolation; binary: of the positive class; else "
        "unweighted mean over classes (one versus rest) or labels",
        undefined="only one class in the labels",
    ),
    Metric(
        "balanced_accuracy", "Balanced accuracy",
        "Mean recall over the classes that occur; rare classes count as much as frequent ones.",
        percent=True, mean_share=True,
        function="counts.decisions", tasks=TASKS, levels=("split", "domain"),
        definition="mean recall over the classes that occur; multi-label: mean over labels of "
        "(sensitivity + specificity) / 2",
        undefined="no label with both positives and negatives",
        cards=("multi-class",), published=True, selects=True, short="Bal. acc.",
    ),
    *(
        Metric(
            f"{shot}_shot_accuracy", f"{shot.capitalize()}-shot accuracy",
            f"Mean recall of the classes with {images} training images.", percent=True,
            mean_share=True,
            function="shots.accuracies", tasks=_CLASSES, shots=True, published=True,
            definition=f"unweighted mean recall of the classes with {limit}",
            undefined=f"no class has {images} training images", short=shot.capitalize(),
        )
        for shot, images, limit in (
            ("many", "many", "more training images than the first number of evaluation.shots"),
            ("medium", "a medium number of", "training images between the two, or equal to one"),
            ("few", "few", "fewer training images than the second number of evaluation.shots"),
        )
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
        "mcc", "Matthews correlation",
        "Correlation between true and predicted class, from -1 to 1; 0 is chance level. High only "
        "where every class is predicted well.",
        function="counts.decisions", tasks=("multi-class", "binary", "ordinal"), range=(-1.0, 1.0),
        definition="Matthews correlation coefficient; more than two classes: Gorodkin's R_K",
        undefined="labels or predictions are all one class", short="MCC",
    ),
    Metric(
        "exact_match", "Exact match", "Share of images with every label predicted correctly.",
        percent=True, share="items",
        function="counts.decisions", tasks=("multi-label",), cards=("multi-label",),
        definition="share of items with every known label predicted correctly", short="Exact",
    ),
    Metric(
        "sensitivity", "Sensitivity",
        "Share of positive cases that are detected when the more probable class is predicted.",
        percent=True, share="positives", function="counts.decisions", tasks=_BINARY,
        definition="recall of the positive class", undefined="no such class in the labels",
    ),
    Metric(
        "specificity", "Specificity",
        "Share of negative cases classified as negative when the more probable class is predicted.",
        percent=True, share="negatives", function="counts.decisions", tasks=_BINARY,
        definition="recall of the negative class", undefined="no other class in the labels",
    ),
    Metric(
        "sensitivity_at_specificity", "Sensitivity at the chosen threshold",
        "Sensitivity at the threshold that reaches the requested specificity on the validation "
        "split.",
        percent=True, share="positives",
        function="operating_point.at_point", tasks=_BINARY, threshold=True,
        definition="sensitivity at the threshold that reaches the requested specificity on the "
        "validation split",
        undefined="no such class in the labels", cards=_BINARY, short="Sens.",
    ),
    Metric(
        "specificity_at_threshold", "Specificity at the chosen threshold",
        "Specificity reached on this split with the threshold chosen on the validation split.",
        percent=True, share="negatives",
        function="operating_point.at_point", tasks=_BINARY, threshold=True,
        definition="specificity reached on this split at that threshold",
        undefined="no other class in the labels", short="Spec.",
    ),
    Metric(
        "ppv", "PPV",
        "Positive predictive value: of the images called positive at the threshold chosen on the "
        "validation split, the share truly positive. It rises with prevalence.",
        percent=True, share="flagged", function="operating_point.at_point",
        tasks=_BINARY, threshold=True,
        definition="share of positives among the items above that threshold",
        undefined="nothing is called positive at this threshold",
    ),
    Metric(
        "npv", "NPV",
        "Negative predictive value: of the images called negative at the threshold chosen on the "
        "validation split, the share truly negative. It falls with prevalence.",
        percent=True, share="cleared", function="operating_point.at_point",
        tasks=_BINARY, threshold=True,
        definition="share of negatives among the items at or below that threshold",
        undefined="nothing is called negative at this threshold",
    ),
    Metric(
        "lr_positive", "Positive likelihood ratio",
        "How many times likelier a positive call at that threshold is with the finding than "
        "without it. Above 10 a positive call is strong evidence.",
        ratio="flagged", function="operating_point.at_point", tasks=_BINARY, threshold=True,
        definition="sensitivity / (1 - specificity) at that threshold", range=(0.0, inf),
        undefined="no false positive, or no such class in the labels", short="LR+",
    ),
    Metric(
        "lr_negative", "Negative likelihood ratio",
        "How many times likelier a negative call at that threshold is with the finding than "
        "without it. Below 0.1 a negative call is strong evidence.",
        better="lower", ratio="cleared", function="operating_point.at_point", tasks=_BINARY,
        definition="(1 - sensitivity) / specificity at that threshold", range=(0.0, inf),
        threshold=True, undefined="no true negative, or no such class in the labels", short="LR-",
    ),
    Metric(
        "ppv_at_prevalence", "PPV at the stated prevalence",
        "PPV by Bayes' rule where as many have the finding as evaluation.prevalence states.",
        percent=True, mean_share=True, tasks=_BINARY, levels=(), threshold=True,
        definition="PPV from sensitivity and specificity at that threshold, by Bayes' rule",
        undefined="sensitivity or specificity is undefined, or nothing is called positive",
    ),
    Metric(
        "npv_at_prevalence", "NPV at the stated prevalence",
        "NPV by Bayes' rule where as many have the finding as evaluation.prevalence states.",
        percent=True, mean_share=True, tasks=_BINARY, levels=(), threshold=True,
        definition="NPV from sensitivity and specificity at that threshold, by Bayes' rule",
        undefined="sensitivity or specificity is undefined, or nothing is called negative",
    ),
    Metric(
        "quadratic_kappa", "Quadratic kappa",
        "Agreement beyond chance on an ordered scale; an error of two grades weighs four times as "
        "much as an error of one.",
        function="ordinal.distances", tasks=("ordinal",), cards=("ordinal",), short="Kappa",
        selects=True,
        definition="Cohen's kappa of ordered classes with quadratic weights",
        undefined="labels and predictions are all one class", aliases=("kappa",), range=(-1.0, 1.0),
    ),
    Metric(
        "mae", "Mean absolute error", "Mean distance from the true grade, in grades.",
        better="lower", function="ordinal.distances", tasks=("ordinal",), cards=("ordinal",),
        definition="mean distance between label and prediction, in classes", short="Abs. error",
        range=(0.0, inf), selects=True,
    ),
    Metric(
        "ece", "ECE",
        "Expected calibration error: mean gap between predicted confidence and observed accuracy. "
        "A finite sample inflates it, so it has no interval. Noise beside it is what a perfectly "
        "calibrated model would show on as many independent images: on average, and at most in 95% "
        "of samples; with several images per patient it is larger.",
        better="lower", calibration=True, biased=True,
        function="calibration.decided_error", tasks=TASKS,
        levels=("split", "domain"), cards=("multi-class", "binary", "multi-label"),
        definition="calibration error of the predicted class (multi-label: mean over labels); "
        "without an interval, because a finite sample inflates it",
    ),
    Metric(
        "ece_positive", "ECE, positive class",
        "The same gap for the predicted probability of the positive class, whichever class is "
        "predicted.",
        better="lower", calibration=True, biased=True,
        function="calibration.positive_error", tasks=_BINARY,
        definition="calibration error of the positive class's probability",
    ),
    Metric(
        "calibration_intercept", "Calibration intercept",
        "Whether predicted probabilities are too low (above 0) or too high (below 0) on average, "
        "as log odds; 0 is ideal.",
        better="", calibration=True, tasks=TASKS, levels=(), range=(-inf, inf),
        definition="calibration in the large: intercept of a logistic regression of the outcome on "
        "logit p with the slope fixed at 1",
    ),
    Metric(
        "calibration_slope", "Calibration slope",
        "Whether predicted probabilities are too extreme (below 1, as after overfitting) or too "
        "cautious (above 1); 1 is ideal.",
        better="", calibration=True, tasks=TASKS, levels=(), range=(-inf, inf),
        definition="slope of a logistic regression of the outcome on logit p, with intercept",
    ),
    Metric(
        "brier", "Brier score",
        "Mean squared difference between predicted probability and outcome; with more than two "
        "classes summed over them, from 0 to 2.",
        better="lower", calibration=True, function="calibration.likelihoods", tasks=TASKS,
        definition="squared error of the probabilities, summed over classes; binary and "
        "multi-label: of one probability",
        range=(0.0, 2.0),
    ),
    Metric(
        "nll", "NLL",
        "Negative log-likelihood (natural logarithm); penalises confident errors most.",
        better="lower", calibration=True, function="calibration.likelihoods", tasks=TASKS,
        definition="mean negative log probability of the label", range=(0.0, inf),
    ),
    Metric(
        "aurc", "AURC",
        "Area under the risk-coverage curve: the mean error among the most confident images, over "
        "all shares of images that are kept. Low where errors are unconfident.",
        better="lower", function="selective.risks", tasks=("multi-class", "binary", "ordinal"),
        definition="mean over items of the error among those at least as confident",
    ),
    Metric(
        "recall", "Recall", "Of the images of a class, the share predicted as that class.",
        percent=True, share="class", function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="no such class in the labels",
    ),
    Metric(
        "precision", "Precision",
        "Of the images predicted as a class, the share that belongs to it.",
        percent=True, share="decided", function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="never predicted",
    ),
    Metric(
        "f1", "F1", "Harmonic mean of precision and recall of one class.",
        function="counts.decisions", tasks=TASKS, levels=("class",),
        undefined="neither in the labels nor predicted",
    ),
    # The last rows come of other metrics, over domains, groups or shares of the images, or of
    # training itself: no function of `medldr.evaluation.metrics` computes them.
    Metric(
        "error_at_coverage", "Error", "Share of the decided images classified incorrectly.",
        percent=True, better="lower", share="items", levels=(), aliases=("error",),
        tasks=("multi-class", "binary", "ordinal"),
        definition="errors among the most confident items, by their share",
    ),
    Metric(
        "worst_domain", "Worst domain accuracy",
        "Accuracy in the domain (hospital, scanner) where it is lowest.",
        percent=True, levels=(), definition="lowest accuracy of any domain",
        aliases=("worst_domain_accuracy",),
    ),
    Metric(
        "worst_group", "Worst group accuracy",
        "Accuracy in the group (slide, patient) where it is lowest. The lowest of many is low by "
        "chance alone and has no interval; look at the groups and their intervals.",
        percent=True, levels=(), aliases=("worst_group_accuracy",),
        definition="lowest accuracy of any group (slide, patient) that has items",
    ),
    Metric(
        "loss", "Loss", "The quantity that training minimises.", better="lower", levels=(),
        selects=True, range=(0.0, inf),
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

BY_GROUP: Final = "by_group/"
"""In front of a metric: groups (patients, slides) are scored, one row each, in place of images."""


_PAIR: Final = ("sensitivity_at_specificity", "specificity_at_threshold")
"""Of one threshold; either alone says nothing, since the threshold trades one for the other."""


def other_half(name: str) -> str:
    """The metric that this one is always shown with; empty where it stands alone.

    Args:
        name: A key, also with slashes in front.

    Example:
        >>> other_half("by_group/sensitivity_at_specificity"), other_half("auc")
        ('by_group/specificity_at_threshold', '')
    """
    start, slash, key = name.rpartition("/")
    others = dict([_PAIR, _PAIR[::-1]])
    return f"{start}{slash}{others[key]}" if key in others else ""


@cache
def metric_facts(name: str) -> Metric:
    """The metric of this key; an unknown key is printed as it is, with three decimals.

    Args:
        name: A key, also with slashes in front: ``test/unseen/accuracy``.

    Example:
        >>> metric_facts("test/auc").title, metric_facts("dice_score").title
        ('AUC', 'Dice score')
        >>> metric_facts("test/by_group/auc").title
        'AUC, by group'
    """
    key = name.rsplit("/", 1)[-1]
    key = ALIASES.get(key, key)
    unknown = Metric(key, key.replace("_", " ").capitalize(), "", better="", levels=())
    found = METRICS.get(key, unknown)
    if BY_GROUP not in name:
        return found
    short = f"{found.short}, by group" if found.short else ""
    return replace(found, title=f"{found.title}, by group", short=short)
