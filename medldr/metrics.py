"""How each measure is named, printed and explained; the one place that knows units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measure:
    """One measure as a reader meets it.

    Attributes:
        title: Name in tables and figures.
        percent: Printed as per cent with one decimal, else as a number with three.
        better: ``higher``, ``lower``, or empty where neither holds.
        meaning: One plain sentence for the glossary.
    """

    title: str
    percent: bool
    better: str
    meaning: str

    @property
    def heading(self) -> str:
        """Title with its unit.

        Example:
            >>> measure("accuracy").heading, measure("auc").heading
            ('Accuracy (%)', 'AUC')
        """
        return f"{self.title} (%)" if self.percent else self.title

    def show(self, value: float) -> str:
        """Print a value in this measure's unit.

        Example:
            >>> measure("accuracy").show(0.7349), measure("auc").show(0.5)
            ('73.5', '0.500')
        """
        text = f"{100 * value:.1f}" if self.percent else f"{value:.3f}"
        return text[1:] if text.startswith("-") and not text.strip("-0.") else text

    def show_difference(self, value: float) -> str:
        """Print a difference with its sign, a real minus and no hyphen, as wide as a plus.

        Example:
            >>> measure("accuracy").show_difference(0.05), measure("ece").show_difference(-0.01)
            ('+5.0', '−0.010')
        """
        text = self.show(value)
        return f"−{text[1:]}" if text.startswith("-") else f"+{text}"


_RANKS = "the chance that an image with the finding gets a higher score than one without it"

MEASURES: dict[str, Measure] = {
    "accuracy": Measure(
        "Accuracy", True, "higher",
        "Share of images that are classified right. With several labels per image: the mean "
        "over labels of the share decided right at probability 0.5.",
    ),
    "auc": Measure(
        "AUC", False, "higher",
        f"Area under the ROC curve: {_RANKS}; the mean over classes where there are several. "
        "0.5 is guessing, 1 is perfect. It needs no threshold.",
    ),
    "balanced_accuracy": Measure(
        "Balanced accuracy", True, "higher",
        "Mean of the recalls of the classes that occur, so that rare classes count as much as "
        "frequent ones.",
    ),
    "macro_f1": Measure(
        "Macro F1", False, "higher",
        "Mean of F1, the harmonic mean of precision and recall, over the classes that occur in the "
        "labels or among the answers.",
    ),
    "exact_match": Measure(
        "Exact match", True, "higher", "Share of images all of whose labels are decided right."
    ),
    "sensitivity": Measure(
        "Sensitivity", True, "higher",
        "Share of the positive cases that are found when the likelier class is chosen.",
    ),
    "specificity": Measure(
        "Specificity", True, "higher",
        "Share of the negative cases that are recognised when the likelier class is chosen.",
    ),
    "sensitivity_at_specificity": Measure(
        "Sensitivity at fixed specificity", True, "higher",
        "Share of the positive cases that are found at the threshold which gives the wanted "
        "specificity on the validation split.",
    ),
    "specificity_at_threshold": Measure(
        "Specificity at that threshold", True, "higher",
        "Specificity that the threshold chosen on the validation split really gives here.",
    ),
    "quadratic_kappa": Measure(
        "Quadratic kappa", False, "higher",
        "Agreement on an ordered scale beyond chance; a miss by two grades weighs four times a "
        "miss by one.",
    ),
    "mae": Measure(
        "Mean absolute error", False, "lower", "Mean distance, in grades, from the true grade."
    ),
    "ece": Measure(
        "ECE", False, "lower",
        "Expected calibration error: mean gap between stated confidence and observed accuracy. "
        "0 means that confidences can be taken at their word. Resampling makes it look larger, so "
        "that its interval may lie above the value.",
    ),
    "ece_positive": Measure(
        "ECE, positive class", False, "lower",
        "The same gap for the stated probability of the positive class, whatever is decided.",
    ),
    "brier": Measure(
        "Brier score", False, "lower",
        "Mean squared distance of the stated probabilities from what was true.",
    ),
    "nll": Measure(
        "NLL", False, "lower",
        "Negative log-likelihood: punishes confident mistakes most. Natural logarithm.",
    ),
    "recall": Measure(
        "Recall", True, "higher", "Of the images of a class, the share that is recognised."
    ),
    "precision": Measure(
        "Precision", True, "higher", "Of the images called a class, the share that is of it."
    ),
    "f1": Measure("F1", False, "higher", "Harmonic mean of precision and recall of one class."),
    "worst_domain": Measure(
        "Worst domain accuracy", True, "higher",
        "Accuracy in the domain (hospital, scanner) where it is lowest.",
    ),
    "worst_group": Measure(
        "Worst group accuracy", True, "higher",
        "Accuracy in the group (slide, patient) where it is lowest. Each bootstrap draw finds its "
        "own worst among the groups that it took, so that the interval lies at or above the value.",
    ),
    "loss": Measure("Loss", False, "lower", "What training makes small."),
    "domain_accuracy": Measure(
        "Mean domain accuracy", True, "higher", "Mean of the accuracies of the domains."
    ),
    "domain_loss": Measure(
        "Mean domain loss", False, "lower", "Mean of the losses of the domains."
    ),
}  # fmt: skip

ALIASES = {
    "worst_domain_accuracy": "worst_domain",
    "worst_group_accuracy": "worst_group",
    "acc": "accuracy",
    "kappa": "quadratic_kappa",
}


def measure(name: str) -> Measure:
    """The measure of this key; an unknown key is printed as it is, with three decimals.

    Args:
        name: A key, also with slashes in front: ``test/unseen/accuracy``.

    Example:
        >>> measure("test/auc").title, measure("dice_score").title
        ('AUC', 'Dice score')
    """
    key = name.rsplit("/", 1)[-1]
    key = ALIASES.get(key, key)
    known = MEASURES.get(key)
    if known is not None:
        return known
    return Measure(key.replace("_", " ").capitalize(), False, "", "")


SPLIT_TITLES = {
    "test": "Test",
    "id_test": "Test, seen domains",
    "val": "Validation",
    "id_val": "Validation, seen domains",
    "train": "Training",
}
"""Names of the splits, in the order in which a page shows them."""

PERCENT = "\N{NO-BREAK SPACE}%"
"""The sign with its space, which must not be torn from its number."""

_RULE_SPLITS = {
    "val": "validation",
    "id_val": "seen-domain validation",
    "oracle_out": "held-back target",
    "oracle": "test",
}


def rule_text(rule: str, split: str = "") -> str:
    """A selection rule in words, with the split that it read: ``val_*`` may have read ``id_val``.

    Example:
        >>> rule_text("val_auc"), rule_text("oracle_loss")
        ('the best validation AUC', 'the lowest test loss')
        >>> rule_text("val_auc", "id_val")
        'the best seen-domain validation AUC'
        >>> rule_text("oracle_out_accuracy", "target_out")
        'the best held-back target accuracy'
        >>> rule_text("swad", "id_val")
        'the end of the average over a valley of the seen-domain validation loss'
    """
    if rule == "last":
        return "the end of training"
    if rule == "swad":
        read = _RULE_SPLITS.get(split, "validation")
        return f"the end of the average over a valley of the {read} loss"
    for prefix, named in _RULE_SPLITS.items():
        key = rule.removeprefix(f"{prefix}_")
        if key != rule:
            best = "lowest" if key.endswith("loss") else "best"
            read = _RULE_SPLITS.get(split, named)
            return f"the {best} {read} {'AUC' if key == 'auc' else key.replace('_', ' ')}"
    return rule.replace("_", " ")


def is_defined(number: Mapping[str, Any] | None) -> bool:
    """Whether a number of `evaluation.json` has a value."""
    return number is not None and number.get("value") is not None


def metrics_of(split: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a split of `evaluation.json`, its worst group among them where it has one."""
    found = dict(split.get("metrics") or {})
    worst = split.get("worst_group")
    return {**found, "worst_group": worst["accuracy"]} if worst else found
