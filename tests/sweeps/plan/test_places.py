"""Each run has its own place in the table, and the report knows what the places mean."""

import pytest

from medldr.data.splits.manifest import Made, make_manifest, write_manifest
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep
from medldr.sweeps.plan.run_data import absent_files

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


def test_two_labels_of_one_run_are_an_error(refusal):
    message = refusal({"common": BASE, "axes": {"machine.threads": [1, 2]}})
    assert "threads-1 and threads-2 are the same run" in message
    message = refusal({"common": BASE, "axes": {"training.lr": {"default": 0.001, "same": 1e-3}}})
    assert "default and same are the same run" in message


FOLDS = """\
common: {{extends: run/phantom_fracture_erm, data: {{manifest: splits.json, held_out: []}}}}
axes:
  algorithm: [erm, latentdr_pool]
  data.fold: {folds}
table: {table}
"""


@pytest.fixture
def sweep(write, tmp_path):
    """A sweep file over these folds."""
    folds = {n: {"train": ["a"], "val": ["b"], "test": ["c"]} for n in "01"}
    made = Made(medldr="1", rule="folds", seed=0, val=0.2)
    write_manifest(tmp_path / "splits.json", make_manifest("toy", made, folds))
    return lambda folds="[0, 1]", table="{}": write(
        "cv.yaml", FOLDS.format(folds=folds, table=table)
    )


def test_folds_are_runs_whose_rows_are_the_methods(sweep, tmp_path):
    loaded = load_sweep(sweep(table="{reference: erm, titles: {erm: Plain}}"))
    planned = expand(loaded, tmp_path / "S")
    members = [entry.member for entry in planned]
    assert [member.label for member in members] == [
        "erm_fold-0", "erm_fold-1", "latentdr_pool_fold-0", "latentdr_pool_fold-1"
    ]  # fmt: skip
    assert members[1].row_values == {"algorithm": "erm", "data.fold": "fold-1"}
    assert len({member.run.split("-")[-2] for member in members}) == 4
    assert as_record(loaded, planned).layout.rows == "algorithm"
    assert [entry.config.data.fold for entry in planned] == ["0", "1", "0", "1"]


def test_folds_alone_leave_the_run_as_the_row(sweep, write, tmp_path):
    text = sweep().read_text().replace("  algorithm: [erm, latentdr_pool]\n", "")
    planned = expand(load_sweep(write("cv.yaml", text)), tmp_path / "S")
    assert [entry.member.row_values for entry in planned] == [
        {"run": "cv", "data.fold": "fold-0"},
        {"run": "cv", "data.fold": "fold-1"},
    ]


def test_as_columns_folds_are_like_any_axis(sweep, tmp_path):
    planned = expand(load_sweep(sweep(table="{columns: data.fold}")), tmp_path / "S")
    assert {entry.member.column for entry in planned} == {"fold-0", "fold-1"}
    assert {entry.member.row for entry in planned} == {"erm", "latentdr_pool"}


@pytest.mark.parametrize("side", ["rows: [algorithm, data.fold]", "search: data.fold"])
def test_folds_make_no_rows_and_are_not_chosen_among(sweep, refusal, side):
    said = refusal(sweep(table=f"{{{side}}}"))
    assert f"'data.fold' makes no {side.split(':')[0]}" in said
    assert "table.columns: data.fold" in said


def test_an_unknown_fold_is_known_before_any_run_starts(sweep, tmp_path):
    planned = expand(load_sweep(sweep("[1, 2]")), tmp_path / "S")
    problems = absent_files(SweepFolder(tmp_path / "S"), planned)
    assert len(problems) == 1
    assert "has no fold '2'" in problems[0]
    assert "erm_fold-2 and 1 more run" in problems[0]


def test_an_absent_manifest_is_too(sweep, refusal, tmp_path):
    path = sweep()
    (tmp_path / "splits.json").unlink()
    assert "data.manifest" in refusal(path)
