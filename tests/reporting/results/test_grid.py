"""The grid of a sweep against pandas: means, spreads, counts and marks, from the runs' files."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from medldr.evaluation import compare
from medldr.folders.sweep_record import read_sweep
from medldr.metrics import metric_facts
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.averages import Averages
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
    return make_grid(found.study, found.columns, metric, "test", averaged=found.averages(metric))


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
            assert column.planned[row] == 3
            if key not in found.index:
                assert cell is None
                assert missing_text(column.missing[row]) == "not run"
                continue
            expected = found.loc[key]
            assert cell.planned == 3
            assert cell.mean == pytest.approx(expected["mean"], abs=1e-12)
            assert cell.n == expected["count"]
            if cell.n > 1:
                assert cell.sd == pytest.approx(expected["std"], abs=1e-12)
            else:
                assert cell.sd is None
            if metric == "ece":
                assert cell.low is None
                assert 0 < cell.noise[0] < cell.noise[1]
            elif cell.mean < 1:  # nothing is said of networks that separate the classes
                assert cell.low <= cell.mean <= cell.high


def holm_rejects(p):
    """Pairs that Holm's procedure rejects at 0.05, over all of them."""
    rejected = set()
    for step, pair in enumerate(sorted(p, key=p.__getitem__)):
        if p[pair] >= 0.05 / (len(p) - step):
            break
        rejected.add(pair)
    return rejected


@pytest.mark.parametrize("metric", ["accuracy", "auc", "brier", "ece"])
def test_best_are_all_that_holm_does_not_reject_among_those_that_compete(whole, metric):
    """Against the same pairs as requested contrasts, and against Holm's procedure step by step."""
    grid, study = grid_of(whole, metric), whole.results.study
    rows = ["ERM", "LatentDR (SA)", "LatentDR (Pool)"]  # neither the oracle nor the control
    for number, column in enumerate(grid.columns):
        names = [study.of(row, column.name)[0].member.label for row in rows]
        runs = [e.run for row in rows for e in study.of(row, column.name)]
        pairs = list(itertools.combinations(names, 2))
        asked = compare(runs, splits=["test"], contrasts=pairs)["contrasts"]
        row_of = dict(zip(names, rows, strict=True))
        p = {
            frozenset((row_of[c["method"]], row_of[c["minus"]])): c["p"]
            for c in asked if c["metric"] == metric and c["domain"] is None
        }  # fmt: skip
        given = {row: mark_of(cells[number]) for row, cells in grid.cells.items()}
        given = {row: mark for row, mark in given.items() if mark}
        if metric == "ece":  # which has no p
            assert given == {}
            continue
        sign = -1 if metric == "brier" else 1
        best, *others = sorted(rows, key=lambda row: -sign * grid.cells[row][number].mean)
        clear = holm_rejects(p)
        worse = {other for other in others if frozenset((best, other)) in clear}
        expected = {row: BEST for row in rows if row not in worse} if worse else {}
        if len(worse) == 2:
            one, _ = sorted(worse, key=lambda row: -sign * grid.cells[row][number].mean)
            expected |= {one: SECOND} if frozenset(worse) in clear else {}
        assert given == expected


def test_a_number_of_fewer_runs_than_others_have_does_not_compete(sweep):
    rows = {"erm": 0.2, "mixup": 6.0, "latentdr_pool": 3.0}
    gone, seeds = [("mixup", "octmnist", 1)], (0, 1, 2)
    study = read_study(sweep(rows, ("octmnist",), seeds, without=gone, n=300))
    grid = make_grid(study, columns(study), "accuracy", "test", averaged=True)
    marks_of = {study.keys[row]: mark_of(cells[0]) for row, cells in grid.cells.items()}
    means = {study.keys[row]: cells[0].mean for row, cells in grid.cells.items()}
    assert means["mixup"] == max(means.values())
    assert marks_of == {"erm": "", "mixup": "", "latentdr_pool": BEST}


def test_single_seeds_have_no_best(sweep):
    study = read_study(sweep({"erm": 0.2, "mixup": 6.0}, ("octmnist",), (0,)))
    grid = make_grid(study, columns(study), "accuracy", "test", averaged=True)
    assert [mark_of(cells[0]) for cells in grid.cells.values()] == ["", ""]


def test_the_p_of_a_difference_of_averages_adds_the_variances_of_the_sets(whole):
    """By hand: units of both sets, and for the seeds the spread of each seed's own mean."""
    grid = grid_of(whole, "accuracy")
    one, two = "LatentDR (Pool)", "LatentDR (SA)"
    pairs = [column.pair("test", "accuracy", one, two).estimate.variance for column in grid.columns]
    units = [(v / 4, df) for pair in pairs for v, df in pair.units]
    study, both = whole.results.study, []
    for row in (one, two):
        of = [[e.files.evaluation.scores.value("test", "accuracy") for e in study.of(row, c.name)]
              for c in grid.columns]  # fmt: skip
        both.append(np.mean(of, axis=0).var(ddof=1) / len(of[0]))
    df = 2 * sum(both) / sum(v**2 for v in both) ** 0.5
    seeds = [(sum(both), df)]
    extra = max(0.0, sum(v for v, _ in seeds) - sum(pair.noise for pair in pairs) / 4)
    total = sum(v for v, _ in units) + extra
    sources = [(v, df) for v, df in units + seeds if v > 0]
    df = max(total**2 / sum(v**2 / d for v, d in sources), min(d for _, d in sources))
    gain = grid.averages[one].mean - grid.averages[two].mean
    expected = 2 * scipy.stats.t.sf(abs(gain) / total**0.5, df)
    averages = Averages(study, "accuracy", "test")
    assert averages.minus(grid.columns, one, two).p == pytest.approx(expected, rel=1e-9)
    assert averages.minus(grid.columns, two, one).p == pytest.approx(expected, rel=1e-9)


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
    best = max(("erm", "latentdr_sa", "latentdr_pool"), key=lambda row: means.loc[row].mean())
    marked = [keys[row] for row, found in grid.averages.items() if mark_of(found) == BEST]
    assert not marked or best in marked
    assert {"mixup", "erm_half_lr"}.isdisjoint(marked)


# Marks, worked by hand from given p; comments hold Holm's corrections.


def ranked(values, p, metric="accuracy"):
    return marks(values, metric_facts(metric), lambda one, two: p.get(frozenset(one + two)))


def of(**p):
    return {frozenset(pair): value for pair, value in p.items()}


VALUES = {"a": 0.9, "b": 0.8, "c": 0.7}


def test_lower_is_better_where_it_is():
    p = of(ab=0.001, ac=0.001, bc=0.001)
    assert ranked(VALUES, p, "nll") == {"c": BEST, "b": SECOND}


@pytest.mark.parametrize("metric", ["ece", "ece_positive", "dice_score"])
def test_some_metrics_have_no_best(metric):
    assert ranked(VALUES, of(ab=0.001, ac=0.001, bc=0.001), metric) == {}


def test_a_row_without_any_p_neither_has_a_mark_nor_hides_those_of_others():
    """As one of two seeds: it may be the best or the worst of all."""
    clear = of(ab=0.001, ac=0.001, bc=0.001)
    assert ranked(VALUES | {"x": 0.95}, clear) == {"a": BEST, "b": SECOND}
    assert ranked(VALUES | {"x": 0.1}, of(ab=0.2, ac=0.001, bc=0.5)) == {"a": BEST, "b": BEST}
    assert ranked(VALUES, {}) == {}
