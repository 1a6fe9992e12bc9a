"""The metrics that pages show follow from the table of metrics."""

import pytest

from medldr.metrics import METRICS
from medldr.reporting.wording import card_metrics, comparison_metrics

CARDS = {
    "multi-class": ("accuracy", "auc", "balanced_accuracy", "ece"),
    "binary": ("accuracy", "auc", "sensitivity_at_specificity", "ece"),
    "ordinal": ("accuracy", "auc", "quadratic_kappa", "mae"),
    "multi-label": ("auc", "accuracy", "exact_match", "ece"),
}
MAIN = ("accuracy", "auc", "balanced_accuracy", "ece")
OWN = {
    "multi-class": (),
    "binary": ("sensitivity_at_specificity",),
    "ordinal": ("quadratic_kappa", "mae"),
    "multi-label": ("exact_match",),
}


@pytest.mark.parametrize("task", CARDS)
def test_a_page_shows_four_large_numbers_and_a_comparison_the_task_s_own(task):
    assert card_metrics(task) == [*CARDS[task]]
    assert comparison_metrics(task) == (*MAIN, *OWN[task])


def test_published_tables_give_accuracy_auc_and_balanced_accuracy():
    published = [name for name, metric in METRICS.items() if metric.published]
    shots = [f"{shot}_shot_accuracy" for shot in ("many", "medium", "few")]
    assert published == ["accuracy", "auc", "balanced_accuracy", *shots]
