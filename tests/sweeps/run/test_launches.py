"""A launched member is shown as long as its sweep lives and its run has not started."""

import json
import os

import pytest

from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.run import launches as launched


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path / "S")


def _started(folder, name, times):
    run = folder.run(name)
    run.path.mkdir(parents=True, exist_ok=True)
    run.run.write_text(json.dumps({"status": "interrupted", "times": {"starts": times}}))


def test_a_member_is_launched_until_its_process_has_ended(folder):
    assert not launched.is_launched(folder, "a")
    with launched.at_work(folder) as mine:
        assert not launched.is_launched(folder, "a")
        launched.note_launch(mine, "a", 0)
        assert launched.is_launched(folder, "a")
        assert not launched.is_launched(folder, "b")
        launched.forget_launch(mine, "a")
        assert not launched.is_launched(folder, "a")


def test_a_run_that_has_started_since_tells_for_itself(folder):
    _started(folder, "a", 2)
    with launched.at_work(folder) as mine:
        launched.note_launch(mine, "a", 2)
        assert launched.is_launched(folder, "a")
        _started(folder, "a", 3)
        assert not launched.is_launched(folder, "a")


def test_a_sweep_that_has_ended_leaves_nothing(folder):
    with launched.at_work(folder) as mine:
        launched.note_launch(mine, "a", 0)
    assert not launched.is_launched(folder, "a")
    assert not list((folder.logs / "sweeps").iterdir())


def test_a_killed_sweep_launches_nothing_and_hides_no_living_one(folder):
    with launched.at_work(folder) as one, launched.at_work(folder) as two:
        launched.note_launch(one, "a", 0)
        launched.note_launch(one, "b", 0)
        launched.note_launch(two, "b", 0)
        owner = json.loads((one / "owner.json").read_text())
        assert owner["pid"] == os.getpid()
        (one / "owner.json").write_text(json.dumps(owner | {"start": "another process"}))
        assert not launched.is_launched(folder, "a")
        assert launched.is_launched(folder, "b")
        with launched.at_work(folder):
            assert two.exists()
            assert not one.exists()
