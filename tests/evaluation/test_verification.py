"""Finished runs are believed as far as their predictions go, with and without checksums."""

import shutil
from pathlib import Path

import pytest

from medldr.evaluation import read_predictions
from medldr.evaluation.agreement import differences
from medldr.evaluation.verification import verify_run
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder

FROZEN = Path(__file__).parents[1] / "frozen"
CASES = sorted(path.parent.name for path in FROZEN.glob("*/folder"))


def finished(case):
    found = [RunFolder(path.parent) for path in sorted(FROZEN.glob(f"{case}/folder/*/run.json"))]
    return [files for files in found if files.evaluation.is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_frozen_runs_follow_from_their_predictions(case):
    runs = finished(case)
    assert runs
    for files in runs:
        said = read_evaluation(files)
        unlike = differences(said, read_predictions(files.predictions, said.task))
        assert [str(each) for each in unlike] == []


@pytest.mark.parametrize("files", finished("single"), ids=lambda files: files.path.name)
def test_runs_without_checksums_and_splits_are_verified_as_far_as_can_be(files):
    verdict = verify_run(files)
    checksums, splits = verdict.differs
    assert "no checksums" in checksums
    assert "splits.json is missing" in splits
    assert verdict.files == 0
    assert verdict.numbers > 100
    assert any("CIs were made by an older method" in remark for remark in verdict.remarks)


def test_a_run_without_its_predictions_cannot_be_believed(tmp_path):
    files = RunFolder(shutil.copytree(finished("single")[0].path, tmp_path / "run"))
    files.predictions.unlink()
    said = verify_run(files).differs[-1]
    assert said == "predictions.csv missing, so scores cannot be checked"
    files.evaluation.unlink()
    said = verify_run(files).differs[-1]
    assert said.startswith("evaluation.json and predictions.csv missing")


def test_settings_that_cannot_be_used_are_named(tmp_path):
    files = RunFolder(shutil.copytree(finished("single")[0].path, tmp_path / "run"))
    text = files.evaluation.read_text()
    files.evaluation.write_text(text.replace('"bins":15', '"bins":1'))
    assert any("evaluation: bins should be" in said for said in verify_run(files).differs)
