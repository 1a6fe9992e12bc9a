"""Which rows are best, worked by hand from given p; comments hold Holm's corrections."""

import pytest

from medldr.metrics import metric_facts
from medldr.reporting.results.grid import marks

BEST, SECOND = "best", "second"


def ranked(values, p, metric="accuracy"):
    return marks(values, metric_facts(metric), lambda one, two: p.get(frozenset(one + two)))


def of(**p):
    return {frozenset(pair): value for pair, value in p.items()}


VALUES = {"a": 0.9, "b": 0.8, "c": 0.7}


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (of(ab=0.01, ac=0.01, bc=0.01), {"a": BEST, "b": SECOND}),
        (of(ab=0.01, ac=0.01, bc=0.06), {"a": BEST}),  # b is not clearly better than c
        (of(ab=0.06, ac=0.01, bc=0.001), {"a": BEST, "b": BEST}),  # nothing follows c
        (of(ab=0.04, ac=0.03, bc=0.001), {}),  # 0.06 and 0.06: all would be marked
        (of(ab=0.02, ac=0.03, bc=0.001), {"a": BEST, "b": SECOND}),  # 0.04 and 0.04
        (of(ab=0.01, ac=0.06, bc=0.5), {"a": BEST, "c": BEST}),  # c varies more than b
        (of(), {}),  # single seeds
    ],
)
def test_three_rows(p, expected):
    assert ranked(VALUES, p) == expected


def test_lower_is_better_where_it_is():
    p = of(ab=0.001, ac=0.001, bc=0.001)
    assert ranked(VALUES, p, "nll") == {"c": BEST, "b": SECOND}


@pytest.mark.parametrize("metric", ["ece", "ece_positive", "dice_score"])
def test_some_metrics_have_no_best(metric):
    assert ranked(VALUES, of(ab=0.001, ac=0.001, bc=0.001), metric) == {}


@pytest.mark.parametrize("values", [{}, {"a": 0.5}, {"a": 0.5, "b": None}])
def test_a_row_alone_is_not_best(values):
    assert ranked(values, of(ab=0.001)) == {}


def test_of_two_rows_the_worse_one_is_not_second():
    assert ranked({"a": 0.9, "b": 0.8}, of(ab=0.001)) == {"a": BEST}
    assert ranked({"a": 0.9, "b": 0.8}, of(ab=0.2)) == {}
