"""The grid of a sweep against pandas: means, spreads, counts and marks, from the runs' files."""

import json

import pandas as pd
import pytest

from medldr.folders.sweep_record import read_sweep
from medldr.metrics import metric_facts
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns
from medldr.reporting.results.grid import make_grid, marks
from medldr.reporting.sections.sweep.missing_runs import missing_text

BEST, SECOND = "best", "second"
TITLES = {"Derma_1": "dermamnist", "OCT": "octmnist"}


@pytest.fixture(scope="module")
def runs(whole_folder):
    """Every scored run as a row: set, method, seed, measures."""
    lines = []
    for member in read_sweep(whole_folder).members:
        files = whole_folder.run(member.run)
        if files.evaluation.is_file():
            metrics = json.loads(files.evaluation.read_text())["splits"]["test"]["metrics"]
            values = {key: number["value"] for key, number in metrics.items()}
            lines.append({"set": member.column, "row": member.row, **values})
    return pd.DataFrame(lines)


def grid_of(whole, metric):
    found = whole.results
    return make_grid(found.study, found.columns, metric, "test", averaged=found.averaged)


def mark_of(cell):
    """The mark of a cell; empty without one."""
    return "" if cell is None else "".join(cell.marks)


@pytest.mark.parametrize("metric", ["accuracy", "auc", "ece"])
def test_cells_are_means_spreads_and_counts_over_seeds(whole, runs, metric):
    grid, keys = grid_of(whole, metric), whole.results.study.keys
    assert [column.name for column in grid.columns] == list(TITLES)
    found = runs.groupby(["set", "row"])[metric].agg(["mean", "std", "count"])
    for row, cells in grid.cells.items():
        for column, cell in zip(grid.columns, cells, strict=True):
            key = (TITLES[column.name], keys[row])
            assert column.planned[row] == 2
            if key not in found.index:
                assert cell is None
                assert missing_text(column.missing[row]) == "not run"
                continue
            expected = found.loc[key]
            assert cell.planned == 2
            assert cell.mean == pytest.approx(expected["mean"], abs=1e-12)
            assert cell.n == expected["count"]
            if cell.n > 1:
                assert cell.sd == pytest.approx(expected["std"], abs=1e-12)
            else:
                assert cell.sd is None
            assert cell.low <= cell.mean <= cell.high or metric == "ece"


@pytest.mark.parametrize("metric", ["accuracy", "ece"])
def test_marks_are_given_on_the_printed_number_among_those_that_compete(whole, runs, metric):
    grid, keys = grid_of(whole, metric), whole.results.study.keys
    digits, factor = (1, 100) if metric == "accuracy" else (3, 1)
    competing = runs[~runs["row"].isin(["erm_half_lr", "mixup"])]
    means = (factor * competing.groupby(["set", "row"])[metric].mean()).round(digits)
    for number, title in enumerate(TITLES):
        ranked = means[TITLES[title]].rank(method="dense", ascending=metric == "ece")
        given = {keys[row]: mark_of(cells[number]) for row, cells in grid.cells.items()}
        for row, mark in given.items():
            assert mark == {1: BEST, 2: SECOND}.get(ranked.get(row), "")
    # The oracle row is better than all others, and the control better than none.
    assert means.max() < 100 * runs[runs["row"] == "mixup"]["accuracy"].min() or metric == "ece"


def test_a_number_of_fewer_runs_than_others_have_does_not_compete(sweep):
    rows = {"erm": 0.8, "mixup": 3.0, "latentdr_pool": 1.5}
    study = read_study(sweep(rows, ("octmnist",), without=[("mixup", "octmnist", 1)]))
    grid = make_grid(study, columns(study), "accuracy", "test", averaged=True)
    marks_of = {study.keys[row]: mark_of(cells[0]) for row, cells in grid.cells.items()}
    means = {study.keys[row]: cells[0].mean for row, cells in grid.cells.items()}
    assert means["mixup"] == max(means.values())
    assert marks_of == {"erm": SECOND, "mixup": "", "latentdr_pool": BEST}


def test_the_average_is_over_sets_and_only_of_complete_rows(whole, runs):
    grid, keys = grid_of(whole, "accuracy"), whole.results.study.keys
    means = runs.groupby(["row", "set"])["accuracy"].mean().unstack()
    assert list(grid.averages) == list(grid.cells)
    for row, average in grid.averages.items():
        key = keys[row]
        if key in ("mixup", "erm_half_lr"):
            assert average.mean is None
        else:
            assert average.mean == pytest.approx(means.loc[key].mean(), abs=1e-12)
    best = max(
        ("erm", "latentdr_sa", "latentdr_pool"), key=lambda row: round(means.loc[row].mean(), 3)
    )
    assert [keys[row] for row, found in grid.averages.items() if mark_of(found) == BEST] == [best]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"a": 0.5, "b": 0.5}, {}),
        ({"a": 0.50049, "b": 0.49951, "c": 0.4}, {"a": BEST, "b": BEST, "c": SECOND}),
        ({"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.1}, {"a": BEST, "b": SECOND, "c": SECOND}),
        ({"a": None, "b": 0.8}, {}),
        ({}, {}),
    ],
)
def test_equal_print_shares_the_mark(values, expected):
    assert marks(values, metric_facts("accuracy")) == expected


def test_a_measure_with_no_better_side_has_no_best():
    assert marks({"a": 0.9, "b": 0.8}, metric_facts("dice_score")) == {}
