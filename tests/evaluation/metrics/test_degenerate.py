"""Degenerate predictions against scikit-learn on random tables."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, multilabel_confusion_matrix, recall_score

from medldr.evaluation.metrics.counts import degenerate

NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize("seed", range(6))
def test_lost_are_the_classes_with_items_whose_recall_is_zero(seed):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 4, 12)
    decided = rng.choice(4, 12, p=[0.9, 0.05, 0.05, 0.0])
    found = degenerate(confusion_matrix(label, decided, labels=range(4)), NAMES)
    recall = recall_score(label, decided, labels=range(4), average=None, zero_division=1.0)
    lost = tuple((NAMES[k], int((label == k).sum())) for k in range(4) if recall[k] == 0)
    one = len(set(decided)) == 1
    if not lost:
        assert found is None
    else:
        assert found.lost == lost
        assert found.only == (NAMES[decided[0]] if one else "")


def test_labels_that_are_never_found():
    label = np.array([[1, 0], [1, 1], [0, 1]])
    decided = np.array([[0, 0], [0, 1], [0, 0]])
    found = degenerate(multilabel_confusion_matrix(label, decided), ["x", "y"])
    assert found == ("", (("x", 2),))


def test_a_split_of_one_class_is_no_fault_of_the_predictions():
    assert degenerate([[9, 0], [0, 0]], ["a", "b"]) is None
    assert degenerate(None, ["a", "b"]) is None
