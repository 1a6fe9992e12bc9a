"""Which columns are independent data sets, and means over their parts."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from medldr.evaluation import checked
from medldr.evaluation.intervals.estimate import Source, Variance
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.results.averages import Averages, average_differences
from medldr.reporting.results.gains import data_sets
from medldr.reporting.results.grid import make_grid


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
    found = Averages(study, "accuracy", "test").row(pacs.columns, "erm")
    each = np.array([[value("erm", c, None, s) for s in range(3)] for c in ("a", "bbb")])
    assert found.mean == pytest.approx(np.mean(each))
    # The luck of a seed is the same in both, so it is that of each seed's own mean.
    parts = [(0.0002 / 2, 99), (0.0002 / 2, 99), (each.mean(axis=0).var(ddof=1) / 3, 2)]
    total = sum(v for v, _ in parts)
    df = total**2 / sum(v**2 / of for v, of in parts)
    half = stats.t.ppf(0.975, df) * total**0.5 / (found.mean * (1 - found.mean))
    ends = expit(logit(found.mean) + np.array([-half, half]))
    assert (found.low, found.high) == pytest.approx(tuple(ends))
    assert found.n == 3


def test_a_mean_needs_every_part(in_memory):
    study, columns = in_memory(["erm", "sam"], ["a", "b"], value, without=[("sam", "b", 0)] * 3)
    averages = Averages(study, "accuracy", "test")
    assert averages.row(columns, "swad") is None
    assert averages.mean([]) is None
    assert averages.row(columns[:1], "erm") == columns[0].estimate("test", "accuracy", "erm")
    # Where a seed is missing, seeds of different columns count as unrelated.
    assert len(averages.row(columns, "sam").variance.seeds) == 2
    assert len(averages.row(columns, "erm").variance.seeds) == 1


def test_columns_with_the_same_test_images_average_to_no_more_than_one(sweep):
    """Twice the same predictions, as from two columns of one data set."""
    layout = {"columns": "data", "reference": "erm"}
    page = sweep_page(sweep({"erm": 0.5, "sam": 1.5}, ("a", "b"), layout=layout, n=40, alike=True))
    study, columns = page.results.study, page.results.columns
    averages = Averages(study, "accuracy", "test")
    for row in study.rows:
        one, both = columns[0].estimate("test", "accuracy", row), averages.row(columns, row)
        assert (both.mean, both.low, both.high) == pytest.approx((one.mean, one.low, one.high))
    row = next(row for row in study.rows if row != study.reference)
    one = columns[0].difference("test", "accuracy", row).estimate
    both = averages.minus(columns, row, study.reference).estimate
    assert (both.low, both.high, both.p) == pytest.approx((one.low, one.high, one.p))


@pytest.mark.parametrize("shared", [False, True])
def test_no_end_of_a_mean_difference_is_beyond_the_largest_one(in_memory, monkeypatch, shared):
    made = in_memory(["erm", "mixup"], ["a", "b"], lambda r, _c, _p, s: 0.9 * s * (r == "mixup"),
                     seeds=(0, 1))  # fmt: skip
    wide = Variance((Source(4.0, 99),), fewest=2)
    monkeypatch.setattr(Averages, "shared", lambda *_: shared)
    monkeypatch.setattr(Averages, "_of_shared", lambda *_: wide)
    estimate = Averages(made[0], "accuracy", "test").minus(made[1], "mixup", "erm").estimate
    assert (estimate.low, estimate.high) == (-1, 1)


def test_a_method_that_was_scored_again_with_other_draws_is_drawn_as_the_others(sweep, monkeypatch):
    monkeypatch.setattr(checked, "differences", lambda *_: [])
    folder = sweep({"erm": 0.5, "sam": 1.5}, ("a", "b"), layout={"columns": "data"}, alike=True)
    for path in folder.path.glob("*_sam-*/evaluation.json"):
        scored = json.loads(path.read_text())
        path.write_text(json.dumps(scored | {"intervals": scored["intervals"] | {"draws": 50}}))
    page = sweep_page(folder)
    study, columns = page.results.study, page.results.columns
    one = columns[0].difference("test", "accuracy", "sam").estimate
    both = Averages(study, "accuracy", "test").minus(columns, "sam", study.reference).estimate
    assert (both.low, both.high, both.p) == pytest.approx((one.low, one.high, one.p))


ROWS = {"erm": 0.5, "erm_half_lr": 0.6, "mixup": 0.9, "latentdr_sa": 1.5, "latentdr_pool": 2.5}
SETS = ("dermamnist", "octmnist")
LAYOUT = {"columns": "data", "reference": "erm", "controls": ("erm_half_lr",)}


def test_differences_of_averages_are_those_of_the_averages_with_holm_over_the_rows(sweep):
    page = sweep_page(sweep(ROWS, SETS, layout=LAYOUT, n=40, oracle=("mixup",)))
    study, shown = page.results.study, page.results.columns
    row_of = {study.keys[row]: row for row in study.rows}
    grid = make_grid(study, shown, "accuracy", "test", averaged=True)
    averages = average_differences(study, shown, "accuracy", "test")
    assert list(averages) == [row for row in study.rows if row != study.reference]
    control, oracle = row_of["erm_half_lr"], row_of["mixup"]
    for row, difference in averages.items():
        gain = grid.averages[row].mean - grid.averages[study.reference].mean
        held = difference.estimate
        assert held.mean == pytest.approx(gain, abs=1e-12)
        assert held.low + held.high == pytest.approx(2 * gain, abs=1e-9)
        if row == oracle:
            assert (difference.p, difference.p_holm) == (None, None)
            continue
        assert (held.low > 0 or held.high < 0) == (difference.p < 0.05)
        if row != control:
            again = Averages(study, "accuracy", "test").minus(shown, study.reference, row)
            assert difference.p == pytest.approx(again.p, rel=1e-9)
    one, two = sorted(
        (row_of["latentdr_sa"], row_of["latentdr_pool"]), key=lambda row: averages[row].p
    )
    smaller = 2 * averages[one].p
    assert averages[one].p_holm == pytest.approx(smaller)
    assert averages[two].p_holm == pytest.approx(max(smaller, averages[two].p))
    assert averages[control].p_holm is None


@pytest.mark.parametrize(("lost", "left"), [("mixup", {"latentdr"}), ("erm", set())])
def test_without_every_planned_run_of_both_there_is_no_average(in_memory, lost, left):
    rows, gone = ["erm", "mixup", "latentdr"], [(lost, "b", 1)]
    study, columns = in_memory(rows, ["a", "b"], value, without=gone)
    assert set(average_differences(study, columns, "accuracy", "test")) == left


def test_a_set_without_any_result_leaves_no_average_of_the_others(sweep):
    gone = [(row, "bloodmnist", seed) for row in ROWS for seed in (0, 1)]
    page = sweep_page(sweep(ROWS, ("bloodmnist", *SETS), layout=LAYOUT, n=40, without=gone))
    assert page.document.section("differences").tables[0].columns[-1] == "octmnist"
