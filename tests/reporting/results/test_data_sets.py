"""Which columns are independent data sets, and means over their parts."""

import numpy as np
import pytest
from scipy import stats

from medldr.evaluation.estimate import Estimate
from medldr.reporting.results.data_sets import data_sets, mean_of


def value(row, column, _place, seed):
    return 0.5 + 0.1 * (row == "latentdr") + 0.01 * len(column) + 0.01 * seed


def held(**of):
    """Configurations of columns: the data set and what was held out."""
    return lambda _row, column, _seed: {
        "data": {"name": "domain_folders", "set": of[column][0], "held_out": of[column][1]}
    }


def test_columns_that_hold_different_domains_out_are_one_data_set(in_memory):
    config = held(a=("pacs", ["photo"]), b=("pacs", ["sketch"]), c=("vlcs", ["VOC"]))
    study, columns = in_memory(["erm", "latentdr"], ["a", "b", "c"], value, config=config)
    pacs, vlcs = data_sets(study, columns)
    assert (pacs.name, pacs.data, pacs.held_out) == ("pacs", "pacs", ("photo", "sketch"))
    assert (vlcs.name, vlcs.data, vlcs.held_out) == ("c", "vlcs", ("VOC",))
    assert not pacs.shared
    assert not vlcs.shared
    assert pacs.columns == tuple(columns[:2])


@pytest.mark.parametrize("domains", [("photo", "photo"), ([], []), (["photo"], [])])
def test_columns_with_the_same_test_images_are_apart_and_say_so(in_memory, domains):
    config = held(a=("pacs", domains[0]), b=("pacs", domains[1]))
    study, columns = in_memory(["erm"], ["a", "b"], value, config=config)
    found = data_sets(study, columns)
    assert [(of.name, of.shared) for of in found] == [("a", True), ("b", True)]


def test_a_column_without_results_is_no_data_set(in_memory):
    gone = [("erm", "b", seed) for seed in range(3)]
    config = held(a=("pacs", ["photo"]), b=("pacs", ["sketch"]))
    study, columns = in_memory(["erm"], ["a", "b"], value, config=config, without=gone)
    assert [of.name for of in data_sets(study, columns)] == ["a"]


def test_a_mean_over_domains_has_the_interval_of_independent_parts(in_memory):
    config = held(a=("pacs", ["photo"]), bbb=("pacs", ["sketch"]))
    study, columns = in_memory(["erm"], ["a", "bbb"], value, config=config)
    (pacs,) = data_sets(study, columns)
    found = pacs.estimate("test", "accuracy", "erm")
    each = [[value("erm", c, None, s) for s in range(3)] for c in ("a", "bbb")]
    assert found.mean == pytest.approx(np.mean(each))
    parts = [(0.0004, 99), *((np.var(of, ddof=1) / 3, 2) for of in each), (0.0004, 99)]
    total = sum(v for v, _ in parts) / 4
    df = total**2 / sum((v / 4) ** 2 / of for v, of in parts)
    half = stats.t.ppf(0.975, df) * total**0.5
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))
    assert found.n == 3


def test_a_mean_needs_every_part():
    one = Estimate(0.5, n=3)
    assert mean_of([one, None], "accuracy") is None
    assert mean_of([one, Estimate(reason="undefined")], "accuracy") is None
    assert mean_of([], "accuracy") is None
    assert mean_of([Estimate(0.5, n=3, marks=("best",))], "accuracy") == one
