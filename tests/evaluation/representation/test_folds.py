"""Folds keep groups whole and hold every class; predictions come from the other folds."""

import warnings

import numpy as np
import pytest

from medldr.evaluation.representation.probes import folds_apart, predict_apart


def test_groups_are_in_one_test_part_each_and_all_rows_are_tested():
    rng = np.random.default_rng(0)
    group = rng.integers(30, size=120)
    truth = rng.integers(3, size=120)
    found = folds_apart(truth, group, 5)
    assert sorted(np.concatenate([test for _, test in found])) == list(range(120))
    for fit, test in found:
        assert not set(group[fit]) & set(group[test])
        assert set(truth[fit]) == {0, 1, 2}


@pytest.mark.parametrize(("groups", "most"), [(2, 2), (3, 3), (9, 5)])
def test_few_groups_make_few_folds(groups, most):
    truth = np.tile([0, 1], groups)
    found = folds_apart(truth, np.repeat(np.arange(groups), 2), 5)
    assert len(found) == most


def test_a_rare_class_is_in_the_training_of_every_fold():
    truth = np.r_[np.zeros(40, int), 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = folds_apart(truth, np.arange(42), 5)
    assert len(found) >= 2
    assert all(set(truth[fit]) == {0, 1} for fit, _ in found)


def test_no_folds_where_classes_share_their_groups_alone():
    assert folds_apart(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), 5) == []
    assert folds_apart(np.array([0, 1]), np.array([0, 0]), 5) == []


def test_rows_of_a_fold_do_not_count_in_its_own_fit():
    # A feature that tells one fold's rows from all others is of no use to any of them.
    x = np.eye(12)
    truth = np.tile([0, 1], 6)
    folds = folds_apart(truth, np.arange(12), 3)
    told, unfinished = predict_apart(x, truth, folds, 1.0)
    assert unfinished == 0
    for fit, test in folds:
        assert len(set(told[test])) == 1, fit
