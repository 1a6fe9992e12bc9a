"""The grid of a sweep against pandas: means, spreads, counts and marks, from the runs' files."""

import json

import pandas as pd
import pytest

from medldr.folders.sweep_record import read_sweep
from medldr.metrics import measure
from medldr.reporting.pages.sweep import sweep_content
from medldr.reporting.results.grid import (
    BEST,
    SECOND,
    Grid,
    GridCell,
    GridRow,
    grid_table,
    make_grid,
    marks,
)

TITLES = {"Derma_1": "dermamnist", "OCT": "octmnist"}


@pytest.fixture(scope="module")
def runs(whole_folder):
    """Every judged run as a row: set, method, seed, measures."""
    lines = []
    for member in read_sweep(whole_folder).members:
        files = whole_folder.run(member.run)
        if files.evaluation.is_file():
            metrics = json.loads(files.evaluation.read_text())["splits"]["test"]["metrics"]
            values = {key: number["value"] for key, number in metrics.items()}
            lines.append({"set": member.column, "row": member.row, **values})
    return pd.DataFrame(lines)


@pytest.mark.parametrize("metric", ["accuracy", "auc", "ece"])
def test_cells_are_means_spreads_and_counts_over_seeds(whole, runs, metric):
    grid = make_grid(whole.study, whole.columns, metric, "test")
    assert grid.columns == list(TITLES)
    found = runs.groupby(["set", "row"])[metric].agg(["mean", "std", "count"])
    for row in grid.rows:
        for title, cell in zip(grid.columns, row.cells, strict=True):
            key = (TITLES[title], whole.study.keys[row.title])
            assert cell.planned == 2
            if key not in found.index:
                assert (cell.mean, cell.runs, cell.missing) == (None, 0, "not run")
                continue
            expected = found.loc[key]
            assert cell.mean == pytest.approx(expected["mean"], abs=1e-12)
            assert cell.runs == expected["count"]
            if cell.runs > 1:
                assert cell.sd == pytest.approx(expected["std"], abs=1e-12)
            else:
                assert cell.sd is None
            assert cell.low <= cell.mean <= cell.high or metric == "ece"


@pytest.mark.parametrize("metric", ["accuracy", "ece"])
def test_marks_are_given_on_the_printed_number_among_those_that_compete(whole, runs, metric):
    grid = make_grid(whole.study, whole.columns, metric, "test")
    digits, factor = (1, 100) if metric == "accuracy" else (3, 1)
    competing = runs[~runs["row"].isin(["erm_half_lr", "mixup"])]
    means = (factor * competing.groupby(["set", "row"])[metric].mean()).round(digits)
    for number, title in enumerate(grid.columns):
        ranked = means[TITLES[title]].rank(method="dense", ascending=metric == "ece")
        given = {whole.study.keys[row.title]: row.cells[number].mark for row in grid.rows}
        for row, mark in given.items():
            assert mark == {1: BEST, 2: SECOND}.get(ranked.get(row), "")
    # The oracle row is better than all others, and the control better than none.
    assert means.max() < 100 * runs[runs["row"] == "mixup"]["accuracy"].min() or metric == "ece"


@pytest.mark.usefixtures("quick")
def test_a_number_of_fewer_runs_than_others_have_does_not_compete(sweep):
    rows = {"erm": 0.8, "mixup": 3.0, "latentdr_pool": 1.5}
    content = sweep_content(sweep(rows, ("octmnist",), without=[("mixup", "octmnist", 1)]))
    grid = make_grid(content.study, content.columns, "accuracy", "test")
    marks_of = {content.study.keys[row.title]: row.cells[0].mark for row in grid.rows}
    means = {content.study.keys[row.title]: row.cells[0].mean for row in grid.rows}
    assert means["mixup"] == max(means.values())
    assert marks_of == {"erm": SECOND, "mixup": "", "latentdr_pool": BEST}


def test_controls_stand_last_and_apart_and_an_oracle_says_so(whole):
    grid = make_grid(whole.study, whole.columns, "accuracy", "test")
    assert [row.title for row in grid.rows] == [
        "ERM", "Mixup (oracle)", "LatentDR (SA)", "LatentDR (Pool)", "ERM, half the rate",
    ]  # fmt: skip
    table = grid_table(grid)
    assert [row.apart for row in table.rows] == [False] * 4 + [True]
    assert [row.tags for row in table.rows] == [("reference",), ("oracle",), (), (), ("control",)]
    assert table.columns == ["Method", "Derma_1", "OCT", "Average"]
    mixup = table.rows[1].cells[1]
    assert mixup.extra == "n 1 of 2"
    assert table.rows[4].cells[1].text == "not run"
    assert table.rows[4].cells[1].style == "missing"


def test_the_average_is_over_sets_and_only_of_complete_rows(whole, runs):
    grid = make_grid(whole.study, whole.columns, "accuracy", "test")
    means = runs.groupby(["row", "set"])["accuracy"].mean().unstack()
    for row in grid.rows:
        key = whole.study.keys[row.title]
        if key in ("mixup", "erm_half_lr"):
            assert row.average.mean is None
            assert "a run is missing" in row.average.reason
        else:
            assert row.average.mean == pytest.approx(means.loc[key].mean(), abs=1e-12)
    best = max(
        ("erm", "latentdr_sa", "latentdr_pool"), key=lambda row: round(means.loc[row].mean(), 3)
    )
    assert [whole.study.keys[r.title] for r in grid.rows if r.average.mark == BEST] == [best]


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
    assert marks(values, measure("accuracy")) == expected


def test_a_measure_with_no_better_side_has_no_best():
    assert marks({"a": 0.9, "b": 0.8}, measure("dice_score")) == {}


def test_undefined_numbers_and_footnotes_keep_their_reasons():
    cells = (
        GridCell(runs=2, planned=2, reason="only one class in the labels"),
        GridCell(0.5, 0.1, 0.4, 0.6, 2, 2, footnotes=("precision differs",)),
        GridCell(),
    )
    grid = Grid("accuracy", "test", ["a", "b", "c"])
    grid.rows = [GridRow("x", cells, None, control=False, oracle=False, reference=True)]
    table = grid_table(grid)
    undefined, noted, absent = table.rows[0].cells
    assert (undefined.text, undefined.reason) == ("n/a", "only one class in the labels")
    assert dict(table.footnotes)[undefined.mark] == "only one class in the labels"
    assert dict(table.footnotes)[noted.mark] == "precision differs"
    assert (noted.text, noted.detail, noted.extra) == ("50.0", "40.0 to 60.0", "SD 10.0, n 2")
    assert (absent.text, absent.style) == ("–", "")
