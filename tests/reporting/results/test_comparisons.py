"""A column of a sweep is the comparison of its runs, and trouble in it stays there."""

import json
import statistics
from dataclasses import replace

import pytest

from medldr.evaluation import compare
from medldr.folders.sweep_record import read_sweep, write_sweep
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns, splits


def test_a_column_has_the_numbers_of_compare(whole, whole_folder):
    members = [m for m in read_sweep(whole_folder).members if m.column == "dermamnist"]
    folders = [whole_folder.run(member.run) for member in members]
    names = {"Derma_1": "dermamnist"}
    half = "dermamnist_erm_half_lr"
    pairs = [("dermamnist_latentdr_pool", half)]
    expected = compare(folders, contrasts=pairs, controls=[half])
    found = next(c for c in whole.results.columns if c.name in names)
    title = {"dermamnist_erm": "ERM", "dermamnist_latentdr_pool": "LatentDR (Pool)",
             "dermamnist_mixup (oracle)": "Mixup (oracle)"}  # fmt: skip
    for row in expected["rows"]:
        if row["method"] in title:
            place = (row["split"], row["metric"], title[row["method"]], row["domain"])
            mine = found.comparison.score(*place)
            for key in ("mean", "sd", "low", "high"):
                assert getattr(mine.estimate, key) == row[key]
            values = [value for value in row["values"] if value is not None]
            assert mine.runs == len(row["values"])
            if row["mean"] is not None:
                assert mine.estimate.mean == pytest.approx(statistics.fmean(values), abs=1e-12)
            if row["difference"]:
                minus = found.difference(*place)
                assert minus.estimate.low == row["difference"]["low"]
                assert minus.p_holm == row["difference"]["p_holm"]
    (pair,) = [
        c for c in expected["contrasts"]
        if (c["split"], c["domain"], c["metric"]) == ("test", None, "auc")
    ]  # fmt: skip
    mine = found.contrast("test", "auc", ("LatentDR (Pool)", "ERM, half the rate"))
    numbers = (mine.estimate.mean, mine.estimate.low, mine.estimate.high, mine.p)
    assert numbers == tuple(pair[k] for k in ("value", "low", "high", "p"))
    # Holm over the two pairs that the sweep asks for, by hand.
    other = found.contrast("test", "auc", ("LatentDR (Pool)", "LatentDR (SA)"))
    low, high = sorted((mine.p, other.p))
    expected_p = {low: min(1, 2 * low), high: min(1, max(2 * low, high))}
    assert mine.p_holm == pytest.approx(expected_p[mine.p])


def test_runs_scored_on_other_items_cost_their_column_alone_and_name_no_item(sweep):
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist", "dermamnist"), n=20)
    odd = next(m for m in read_sweep(folder).members if m.label == "octmnist_mixup")
    predictions = folder.run(odd.run).predictions
    predictions.write_text(
        predictions.read_text().replace("DOE_JANE_test_0003", "DOE_JANE_test_09")
    )
    bad, good = columns(read_study(folder))
    assert bad.comparison is None
    assert "octmnist_erm" in bad.problem
    assert odd.run in bad.problem
    assert "test items differ" in bad.problem
    assert "DOE" not in bad.problem
    assert "DOE" in bad.said  # for the terminal alone
    assert good.problem == ""
    assert good.estimate("test", "accuracy", "ERM").n == 3
    assert splits([bad, good]) == ["test"]


def test_a_short_number_that_is_an_id_is_not_named_either(sweep):
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist",), n=20)
    odd = next(m for m in read_sweep(folder).members if m.label == "octmnist_mixup")
    predictions = folder.run(odd.run).predictions
    predictions.write_text(predictions.read_text().replace("DOE_JANE_test_0003", "4711"))
    (bad,) = columns(read_study(folder))
    assert "4711" in bad.said
    assert "4711" not in bad.problem


def test_without_the_reference_there_are_numbers_but_no_differences(sweep):
    gone = {("erm", "octmnist", seed) for seed in range(3)}
    rows = {"erm": 1.0, "mixup": 1.0, "erm_half_lr": 1.0}
    folder = sweep(rows, ("octmnist",), without=gone, n=20)
    (column,) = columns(read_study(folder))
    assert column.comparison.footnotes == ()  # neither is the reference of the other
    for row in ("Mixup", "ERM, half the rate"):
        assert column.footnotes(row) == []
        assert column.estimate("test", "accuracy", row).mean is not None
        assert column.difference("test", "accuracy", row) is None
    assert column.notes[-1] == "octmnist: ERM has no results, so no differences from it are shown."


def test_seeds_whose_configurations_differ_are_one_row_all_the_same(sweep):
    """A run that starts from another's weights names a folder that holds the seed."""
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist",), n=20)
    before = columns(read_study(folder))[0]
    record = read_sweep(folder)
    renamed = []
    for number, member in enumerate(record.members):
        files = folder.run(member.run)
        facts = json.loads(files.run.read_text())
        files.run.write_text(json.dumps({**facts, "hash": f"{number:08d}"}))
        renamed.append(replace(member, run=f"{member.label}-{number:08d}-s{member.seed}"))
        files.path.rename(folder.run(renamed[-1].run).path)
    write_sweep(folder, replace(record, members=tuple(renamed)))
    after = columns(read_study(folder))[0]
    assert len(before.comparison.methods) == 2
    assert [m.seeds for m in after.comparison.methods] == [
        m.seeds for m in before.comparison.methods
    ]
    assert after.comparison.scores == before.comparison.scores
