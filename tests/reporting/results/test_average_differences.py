"""Averages of differences: against the averages of the grid, and Holm's correction by hand."""

import pytest

from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.results.data_sets import average_differences
from medldr.reporting.results.grid import _average_p, make_grid

ROWS = {"erm": 0.5, "erm_half_lr": 0.6, "mixup": 0.9, "latentdr_sa": 1.5, "latentdr_pool": 2.5}
SETS = ("dermamnist", "octmnist")
LAYOUT = {"columns": "data", "reference": "erm", "controls": ("erm_half_lr",)}


@pytest.fixture
def found(sweep, quick):
    def read(sets=SETS, **more):
        return sweep_page(sweep(ROWS, sets, layout=LAYOUT, n=40, **more)).results

    return read


def averages_of(found, metric="accuracy"):
    return average_differences(found.study, found.columns, metric, "test")


def rows_of(found, *keys):
    return [row for row, key in found.study.keys.items() if key in keys]


@pytest.mark.parametrize("metric", ["accuracy", "nll"])
def test_a_difference_of_averages_is_that_of_the_averages_and_has_their_p(found, metric):
    results = found()
    study, shown = results.study, results.columns
    grid = make_grid(study, shown, metric, "test", averaged=True)
    averages = averages_of(results, metric)
    assert list(averages) == [row for row in study.rows if row != study.reference]
    (control,) = rows_of(results, "erm_half_lr")
    for row, difference in averages.items():
        gain = grid.averages[row].mean - grid.averages[study.reference].mean
        held = difference.estimate
        assert held.mean == pytest.approx(gain, abs=1e-12)
        assert held.low + held.high == pytest.approx(2 * gain, abs=1e-9)
        if row != control:
            p = _average_p(shown, "test", metric, grid.cells, row, study.reference)
            assert difference.p == pytest.approx(p, rel=1e-9)
        assert (held.low > 0 or held.high < 0) == (difference.p < 0.05)


def test_holm_is_over_the_rows_without_controls_and_oracles(found):
    results = found(oracle=("mixup",))
    averages = averages_of(results)
    control, oracle = rows_of(results, "erm_half_lr", "mixup")
    one, two = sorted(rows_of(results, "latentdr_sa", "latentdr_pool"), key=lambda r: averages[r].p)
    smaller = 2 * averages[one].p
    assert averages[one].p_holm == pytest.approx(smaller)
    assert averages[two].p_holm == pytest.approx(max(smaller, averages[two].p))
    assert averages[control].p > 0
    assert averages[control].p_holm is None
    assert (averages[oracle].p, averages[oracle].p_holm) == (None, None)


@pytest.mark.parametrize(
    ("lost", "left"),
    [("mixup", {"erm_half_lr", "latentdr_sa", "latentdr_pool"}), ("erm", set())],
)
def test_without_every_planned_run_of_both_there_is_no_average(found, lost, left):
    results = found(without=[(lost, "octmnist", 1)])
    assert {results.study.keys[row] for row in averages_of(results)} == left


@pytest.mark.parametrize(("seeds", "last"), [((), "Average"), ((0, 1), "octmnist")])
@pytest.mark.usefixtures("quick")
def test_a_set_without_any_result_leaves_no_average_of_the_others(sweep, seeds, last):
    gone = [(row, "bloodmnist", seed) for row in ROWS for seed in seeds]
    page = sweep_page(sweep(ROWS, ("bloodmnist", *SETS), layout=LAYOUT, n=40, without=gone))
    assert page.document.section("differences").tables[0].columns[-1] == last
