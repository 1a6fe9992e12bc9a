"""Missing files are reported before anything starts, once, with the runs that need them."""

import pytest

from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep
from medldr.sweeps.plan.run_data import absent_files


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDLDR_DATA", str(tmp_path / "data"))


def planned(*overrides):
    return expand(load_sweep("retina_small", ["seeds=[0, 1]", *overrides]), "S")


def test_each_absent_file_is_told_once_with_its_runs(tmp_path):
    one, other = absent_files(SweepFolder(tmp_path), planned())
    assert one.startswith(f"retinamnist.npz is not in {tmp_path / 'data'}")
    assert one.endswith("in retinamnist_erm and 3 more runs")
    assert "breastmnist.npz" in other


def test_files_that_are_there_or_may_be_fetched_are_no_problem(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("retinamnist", "breastmnist"):
        (tmp_path / "data" / f"{name}.npz").touch()
    assert absent_files(SweepFolder(tmp_path), planned()) == []
    assert absent_files(SweepFolder(tmp_path), planned("data.root=empty")) != []
    assert absent_files(SweepFolder(tmp_path), planned("data.root=x", "data.download=true")) == []


def test_a_phantom_needs_no_files(tmp_path):
    members = expand(load_sweep("phantom_table", ["seeds=[0]"]), "S")
    assert absent_files(SweepFolder(tmp_path), members) == []


def test_runs_that_are_done_need_nothing(tmp_path, leave):
    members = planned("axes.algorithm=[erm]")
    for entry in members:
        leave(SweepFolder(tmp_path), entry.member.run, "done")
    assert absent_files(SweepFolder(tmp_path), members) == []


def test_a_pack_stands_in_for_files_that_are_absent(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "medldr.sweeps.plan.run_data.find_pack",
        lambda data: data if data.flag == "retinamnist" else None,
    )
    (problem,) = absent_files(SweepFolder(tmp_path), planned())
    assert problem.startswith("breastmnist.npz is not in")


def test_a_named_pack_that_is_none_is_told_before_anything_starts(tmp_path):
    members = expand(load_sweep("phantom_table", ["seeds=[0]", f"data.packed={tmp_path}"]), "S")
    (problem,) = absent_files(SweepFolder(tmp_path), members)
    assert problem.startswith("data.packed")
    assert f"{tmp_path} is not a pack" in problem


def test_absent_published_weights_are_told_once_with_their_runs(tmp_path):
    pretrained = ("model=resnet18_pretrained", "data.root=x", "data.download=true")
    (problem,) = absent_files(SweepFolder(tmp_path), planned(*pretrained))
    assert "weights:ResNet18_Weights.IMAGENET1K_V1" in problem
    assert problem.endswith("in retinamnist_erm and 7 more runs")
    allowed = planned(*pretrained, "model.allow_download=true")
    assert absent_files(SweepFolder(tmp_path), allowed) == []
