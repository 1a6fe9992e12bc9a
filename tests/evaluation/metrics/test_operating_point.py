"""The threshold comes from validation and gives at least the wanted specificity there."""

import numpy as np
import pytest

from medldr.evaluation import predictions_of
from medldr.evaluation.metrics import operating_point
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.operating_point import at_point, threshold_at


def columns(p):
    return np.stack([1 - np.asarray(p), p], axis=1)


@pytest.mark.parametrize("specificity", [0.1, 0.5, 0.7, 0.9, 0.95, 0.999])
def test_the_threshold_is_the_lowest_that_gives_the_specificity(specificity):
    rng = np.random.default_rng(0)
    for n in (1, 7, 10, 100):
        negative = rng.random(n).round(1)
        label, prob = np.zeros(n, dtype=int), columns(negative)
        threshold = threshold_at(label, prob, positive=1, specificity=specificity)
        assert (negative <= threshold).mean() >= specificity - 1e-12
        lower = negative[negative < threshold]
        if len(lower):
            assert (negative <= lower.max()).mean() < specificity


def test_the_positive_class_may_be_the_first():
    p = np.array([0.1, 0.4, 0.8, 0.9])
    label = np.array([0, 0, 1, 1])
    threshold = threshold_at(label, columns(p), positive=0, specificity=0.5)
    assert threshold == pytest.approx(0.1)
    items = Items(label, columns(p), "binary", positive=0, threshold=threshold)
    found = at_point(items).value()
    assert (found["sensitivity_at_specificity"], found["specificity_at_threshold"]) == (1.0, 0.5)
    assert (found["ppv"], found["npv"]) == (pytest.approx(2 / 3), 1.0)


def test_val_is_preferred_to_id_val():
    one = predictions_of("binary", [0, 1], columns([0.2, 0.9]))
    other = predictions_of("binary", [0, 1], columns([0.3, 0.9]))
    both = {"id_val": one, "val": other}
    assert operating_point.find(both, positive=1, specificity=0.9).threshold == 0.3
    found = operating_point.find({"id_val": one}, positive=1, specificity=0.9)
    assert (found.threshold, found.split) == (0.2, "id_val")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (None, "no validation split"),
        (predictions_of("binary", [1, 1], columns([0.2, 0.9])), "no negatives"),
        (predictions_of("binary", [0, 1], columns([np.nan, 0.9])), "not finite"),
    ],
)
def test_where_there_is_no_threshold_the_reason_is_said(table, said):
    tables = {"val": table} if table else {}
    found = operating_point.find(tables, positive=1, specificity=0.9)
    assert found.threshold is None
    assert said in found.reason
