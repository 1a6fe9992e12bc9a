"""Two plans do not work in one folder, and what one takes from another's table is reported."""

import dataclasses
import json
import os

import pytest

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.sweeps.shared_folder import (
    at_work,
    forget_launch,
    left_behind,
    note_launch,
    note_plan,
    refuse_others,
)

PLAN = Sweep(
    "demo",
    Layout("Demo", contrasts=(("a", "b"),), titles={"a": "A"}),
    tuple(Member(f"a-00000000-s{seed}", "a", seed, "a", "c") for seed in range(3)),
    ("seeds=[0,1,2]", "training.epochs=1"),
)
OTHER = dataclasses.replace(PLAN, members=PLAN.members[:1], overrides=("seeds=[0]",))
RETITLED = dataclasses.replace(PLAN, layout=Layout("Other"))


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path / "S")


def test_a_folder_of_something_else_is_refused(tmp_path):
    write_sweep(SweepFolder(tmp_path / "other"), dataclasses.replace(PLAN, name="another"))
    with pytest.raises(InputError, match=r"'another'; this one is 'demo'.*out="):
        refuse_others(SweepFolder(tmp_path / "other"), PLAN)
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    run.run.write_text("{}")
    (tmp_path / "file").touch()
    for name in ("run", "file"):
        with pytest.raises(InputError, match="is a file or a run folder"):
            refuse_others(SweepFolder(tmp_path / name), PLAN)


@pytest.mark.parametrize("plan", [OTHER, RETITLED])
def test_another_plan_is_refused_while_one_is_at_work(folder, plan):
    with at_work(folder) as mine:
        refuse_others(folder, plan)  # it has not said yet on what
        note_plan(mine, PLAN)
        refuse_others(folder, plan, mine)
        with pytest.raises(InputError) as caught:
            refuse_others(folder, plan)
    assert str(caught.value) == (
        f"another plan is running in {folder.path} (seeds=[0,1,2] training.epochs=1). "
        "Wait for it, or choose another folder with out="
    )
    refuse_others(folder, plan)


def test_the_same_plan_in_other_words_may_join(folder):
    with at_work(folder) as mine:
        note_plan(mine, PLAN)
        refuse_others(folder, dataclasses.replace(PLAN, overrides=("training.epochs=1",)))


def test_finished_runs_that_a_plan_leaves_out_are_counted(folder, leave):
    assert left_behind(folder, OTHER) is None
    write_sweep(folder, PLAN)
    leave(folder, "a-00000000-s0", "done")
    assert left_behind(folder, OTHER) is None
    leave(folder, "a-00000000-s1", "done")
    assert left_behind(folder, PLAN) is None
    leave(folder, "a-00000000-s2", "done")
    assert left_behind(folder, OTHER) == (
        f"finished runs in {folder.path} that this plan leaves out of its table and keeps: 2 "
        "(the earlier plan was: seeds=[0,1,2] training.epochs=1)"
    )
    write_sweep(folder, dataclasses.replace(PLAN, overrides=()))
    assert left_behind(folder, OTHER).endswith("plan was: the sweep without changes)")


def _is_launched(folder, name):
    return standing_of(folder, name).state == "launched"


def test_a_run_is_launched_until_it_starts_or_its_process_or_its_sweep_has_ended(folder, leave):
    leave(folder, "b", "interrupted", starts=2)
    with at_work(folder) as mine:
        assert not _is_launched(folder, "a")
        note_launch(mine, "a", 0)
        note_launch(mine, "b", 2)
        note_launch(mine, "c", 0)
        assert all(_is_launched(folder, name) for name in "abc")
        forget_launch(mine, "a")
        assert not _is_launched(folder, "a")
        leave(folder, "b", "interrupted", starts=3)
        assert not _is_launched(folder, "b")
    assert not _is_launched(folder, "c")
    assert not list((folder.logs / "sweeps").iterdir())


def test_a_killed_sweep_launches_nothing_and_keeps_nobody_out(folder):
    with at_work(folder) as one, at_work(folder) as two:
        note_plan(one, PLAN)
        note_launch(one, "a", 0)
        note_launch(one, "b", 0)
        note_launch(two, "b", 0)
        owner = json.loads((one / "owner.json").read_text())
        assert owner["pid"] == os.getpid()
        (one / "owner.json").write_text(json.dumps(owner | {"start": "another process"}))
        assert not _is_launched(folder, "a")
        assert _is_launched(folder, "b")  # by the one that lives
        refuse_others(folder, OTHER)
        with at_work(folder):
            assert two.exists()
            assert not one.exists()
