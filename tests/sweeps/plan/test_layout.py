"""Each run has its own place in the table, and the report knows what the places mean."""

import pytest

from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

BASE = {"extends": "run/retinamnist_erm"}
RUNS = [
    {"label": "small", "training": {"batch_size": 8}},
    {"label": "large", "training": {"batch_size": 64}},
]
METHODS = {"algorithm": ["erm", "latentdr_sa"]}
RATES = {"training.lr": [1, 2]}
SETS = {"data": ["retinamnist", "bloodmnist"]}


@pytest.mark.parametrize(
    ("content", "sides", "first", "last"),
    [
        # Worked by hand: what varies most like data makes the columns, all the rest the rows.
        ({"axes": METHODS}, "algorithm / data", "erm / retina", "sa / retina"),
        ({"runs": RUNS}, "run / data", "small / retina", "large / retina"),
        ({"runs": RUNS, "axes": METHODS}, "algorithm / run", "erm / small", "sa / large"),
        ({"axes": {**METHODS, **SETS}}, "algorithm / data", "erm / retina", "sa / blood"),
        ({"runs": RUNS, "axes": SETS}, "run / data", "small / retina", "large / blood"),
        (
            {"runs": RUNS, "axes": {**METHODS, **SETS}},
            *("run, algorithm / data", "small, erm / retina", "large, sa / blood"),
        ),
        (
            {"axes": {**METHODS, **RATES}},
            *("algorithm, lr / data", "erm, lr-1 / retina", "sa, lr-2 / retina"),
        ),
        (
            {"axes": {**METHODS, **RATES}, "table": {"columns": "training.lr"}},
            *("algorithm / lr", "erm / lr-1", "sa / lr-2"),
        ),
    ],
)
def test_rows_and_columns_have_sensible_defaults(content, sides, first, last):
    sweep = load_sweep({"common": BASE, **content})
    planned = expand(sweep, "out")
    layout = as_record(sweep, planned).layout
    assert f"{layout.rows} / {layout.columns}" == sides
    for p, expected in ((planned[0], first), (planned[-1], last)):
        place = f"{p.member.row} / {p.member.column}"
        assert place.replace("mnist", "").replace("latentdr_", "") == expected


def test_the_record_says_how_the_report_lays_it_out(small):
    sweep = load_sweep(small, ["seeds=1", "table.remark=Only a test."])
    planned = expand(sweep, "out")
    record = as_record(sweep, planned)
    layout = record.layout
    assert record.name == "small"
    assert record.members == tuple(p.member for p in planned)
    assert record.overrides == ("seeds=1", "table.remark=Only a test.")
    assert (layout.title, layout.rows, layout.columns) == ("Two sets", "algorithm", "run")
    assert (layout.reference, layout.controls) == ("erm", ("erm_half_lr",))
    assert layout.contrasts == (("latentdr_pool", "erm_half_lr"),)
    assert layout.metrics == ("accuracy", "auc")
    assert layout.remark == "Only a test."


def test_titles_of_single_values_make_titles_of_joint_rows():
    sweep = load_sweep(
        {
            "common": BASE,
            "axes": {"algorithm": ["erm"], "training.lr": {"slow": 1, "fast": 2}},
            "table": {"titles": {"erm": "ERM", "slow": "slowly", "erm, fast": "Plain, fast"}},
        }
    )
    assert as_record(sweep, expand(sweep, "out")).layout.titles == {
        "erm": "ERM",
        "slow": "slowly",
        "erm, slow": "ERM, slowly",
        "erm, fast": "Plain, fast",
    }


def test_two_runs_at_one_place_of_the_table_are_an_error_that_names_the_axis(small, refusal):
    message = refusal(small, "axes.training.lr=[0.1, 0.2]")
    assert message.count("share one cell of the table") == 1
    assert "derma_erm_lr-0.1 and derma_erm_lr-0.2" in message
    assert "add training.lr to table.rows or table.columns" in message
    assert "row 'erm' and column 'derma'" in message
    load_sweep(small, ["axes.training.lr=[0.1]"])


def test_entries_without_a_column_of_their_own_are_told(refusal):
    content = {"common": BASE, "runs": RUNS, "axes": {**METHODS, **SETS}}
    message = refusal({**content, "table": {"rows": "algorithm"}})
    assert "small_erm_retinamnist and large_erm_retinamnist" in message
    assert "add run to table.rows" in message


def test_two_labels_of_one_run_are_an_error(refusal):
    message = refusal({"common": BASE, "axes": {"machine.threads": [1, 2]}})
    assert "threads-1 and threads-2 are the same run" in message
    message = refusal({"common": BASE, "axes": {"training.lr": {"default": 0.001, "same": 1e-3}}})
    assert "default and same are the same run" in message
