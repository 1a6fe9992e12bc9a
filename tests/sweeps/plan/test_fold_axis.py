"""An axis of folds: runs of their own, which make no rows of a table."""

import pytest

from medldr.data.splits.manifest import Made, make_manifest, write_manifest
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.plan.absent_files import absent_files
from medldr.sweeps.plan.expand import as_record, expand
from medldr.sweeps.plan.file import load_sweep

FILE = """\
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
        "cv.yaml", FILE.format(folds=folds, table=table)
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
