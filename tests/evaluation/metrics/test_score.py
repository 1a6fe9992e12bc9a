"""Undefined numbers have reasons, and the short ways agree with the long one."""

import numpy as np
import pytest

from medldr.evaluation import accuracy, auc, predictions_of, score
from medldr.evaluation.metrics import score as metrics


def test_outputs_that_are_not_finite_leave_everything_undefined():
    prob = np.array([[0.5, 0.5], [np.nan, np.nan], [0.1, 0.9]])
    table = predictions_of("binary", [0, 1, 1], prob)
    assert set(score(table).values()) == {None}
    assert accuracy(table.label, prob, "binary") is None
    assert metrics.unusable(table.label, prob) == "the outputs of 1 of 3 items are not finite"


def test_no_items_and_no_known_labels_are_said():
    nothing = np.empty((0, 2))
    assert metrics.unusable(np.empty(0, dtype=int), nothing) == "no items"
    assert auc(np.empty(0, dtype=int), nothing, "binary") is None
    unknown = np.full((2, 2), np.nan)
    assert metrics.unusable(unknown, np.ones((2, 2))) == "no label is known"
    assert accuracy(unknown, np.ones((2, 2)), "multi-label") is None


def test_every_metric_that_can_be_undefined_has_a_reason_of_its_own():
    assert metrics.reason("auc") == "only one class in the labels"
    assert metrics.reason("class/2/auc", known=False) == "no label is known"
    for name in ("recall", "precision", "f1"):
        assert metrics.reason(f"class/0/{name}") != metrics.reason("accuracy")


def test_perfect_agreement_on_one_class_leaves_kappa_undefined():
    found = score(predictions_of("ordinal", [2, 2], np.eye(4)[[2, 2]]))
    assert found["quadratic_kappa"] is None
    assert found["mae"] == 0


def test_kappa_of_the_opposite_order_is_minus_one():
    found = score(predictions_of("ordinal", [0, 3, 0, 3], np.eye(4)[[3, 0, 3, 0]]))
    assert found["quadratic_kappa"] == pytest.approx(-1)
    assert found["mae"] == 3
