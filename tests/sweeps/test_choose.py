"""The second wave: settings are chosen once, after every draw, and survive a kill at any step."""

import dataclasses
import io
import json

import pytest
from rich.console import Console

from medldr.errors import InputError
from medldr.folders.choices_record import read_choices
from medldr.folders.standing import write_exit_record
from medldr.folders.sweep_record import SweepFolder, read_sweep
from medldr.sweeps import choose, launch
from medldr.sweeps.launchers.base import Launcher
from medldr.sweeps.progress import SweepProgress
from medldr.sweeps.shared_folder import at_work, note_plan, refuse_others
from medldr.sweeps.show import print_plan, print_status
from medldr.sweeps.status import status_of

CONTENT = {
    "common": {"extends": "run/phantom_fracture_erm"},
    "axes": {"algorithm": ["erm", "latentdr_pool"]},
    "search": {
        "draws": 3,
        "fresh_seeds": 2,
        "space": {"algorithm.dropout": {"when": {"algorithm": "latentdr"},
                                        "choice": [0.2, 0.5, 0.7]}},
    },
    "table": {"reference": "erm"},
}  # fmt: skip
BEST = "latentdr_pool_d01"
FIRST = ["erm_d00-s0", "latentdr_pool_d00-s0", "latentdr_pool_d01-s0"]
AFTER = ["erm_d00-s1", "latentdr_pool_d01-s1", "erm_d00-s2", "latentdr_pool_d01-s2"]


class Killed(BaseException):
    """The sweep's process is gone."""


class Ended:
    def __init__(self, code=0):
        self.code = code

    def poll(self):
        return self.code

    stop = kill = poll


def short(name):
    label, _, seed = name.rsplit("-", 2)
    return f"{label}-{seed}"


@pytest.fixture
def start(tmp_path, leave):
    """Start a sweep whose processes end at once; gives its result, what started and what was said.

    `best` is the label with the highest validation; `fails` are runs that fail, and `killed_at` one
    at whose start the sweep is killed.
    """

    def sweep(*texts, best=BEST, fails=(), killed_at=None, only=None, content=CONTENT, **more):
        plan = launch.make_plan(content, texts, tmp_path / "S", only, **more)
        started, said = [], io.StringIO()

        def begin(jobs):
            handles = []
            for job in jobs:
                name = short(job.name)
                if name == killed_at:
                    raise Killed
                started.append(name)
                run = leave(plan.folder, job.name, "failed" if name in fails else "done")
                value = 0.9 if name.startswith(best) else 0.5
                run.metrics.write_text(json.dumps({"step": 1, "val/accuracy": value}) + "\n")
                handles.append(Ended(1 if name in fails else 0))
            return handles

        progress = SweepProgress(1, Console(file=said, width=300))
        launcher = Launcher(begin, 1, cores=1, pause_s=0.0)
        result = launch.run_plan(plan, launcher, progress=progress)
        return result, started, said.getvalue()

    return sweep


@pytest.fixture
def folder(tmp_path):
    return SweepFolder(tmp_path / "S")


def test_what_was_chosen_is_trained_with_fresh_seeds_and_never_chosen_again(start, folder):
    result, started, said = start()
    assert started == [*FIRST, *AFTER]
    assert [short(name) for name in result.done] == started
    assert result.complete
    assert "settings chosen; 4 runs with fresh seeds (1, 2) follow" in said
    record, choices = read_sweep(folder), read_choices(folder)
    assert (record.following, [short(m.run) for m in record.members]) == (0, started)
    assert {(c.row, c.setting) for c in choices} == {("erm", ("d00",)), ("latentdr_pool", ("d01",))}
    tried = {each.setting: dict(each.values) for each in choices[1].tried}
    assert tried == {("d00",): {0: 0.5}, ("d01",): {0: 0.9}}
    before = folder.choices.read_bytes()
    assert start(best="erm")[1] == []
    assert folder.choices.read_bytes() == before


@pytest.mark.parametrize("at", [FIRST[1], AFTER[0], AFTER[2]])
def test_killed_at_any_run_it_goes_on_to_the_same_runs(start, folder, at):
    with pytest.raises(Killed):
        start(killed_at=at)
    assert folder.choices.exists() is (at in AFTER)
    every = [*FIRST, *AFTER]
    result, started, _ = start()
    assert started == every[every.index(at) :]
    assert [short(name) for name in result.done] == every


@pytest.mark.parametrize("step", ["choose_settings", "_planned", "write_plan"])
def test_killed_between_two_steps_of_the_choice_it_goes_on(start, folder, monkeypatch, step):
    real, calls = getattr(launch, step), []

    def killed(*args):
        calls.append(args)
        if step == "choose_settings" or len(calls) == 2:  # before, and after the choice is kept
            raise Killed
        return real(*args)

    with monkeypatch.context() as patched:
        patched.setattr(launch, step, killed)
        with pytest.raises(Killed):
            start()
    assert folder.choices.exists() is (step != "choose_settings")
    result, started, _ = start(best="erm" if folder.choices.exists() else BEST)
    assert started == AFTER
    assert result.complete


def test_nothing_is_chosen_while_a_draw_is_open(start, folder):
    _, started, said = start(only="*_d00")
    assert started == FIRST[:2]
    assert not folder.choices.exists()
    assert "settings are chosen once every draw is done or failed; 1 run: latentdr_pool_d01" in said
    assert start()[1] == [FIRST[2], *AFTER]


def test_a_failed_draw_is_no_candidate_and_what_waits_for_it_holds_nothing_up(start, folder):
    runs = [
        {"label": "first"},
        {"label": "second", "after": "first", "training": {"init_from": "after"}},
    ]
    space = {"training.lr": {"choice": [0.1, 0.2]}}
    search = {**CONTENT["search"], "space": space, "defaults_first": False, "draws": 2}
    content = {**CONTENT, "axes": {}, "table": {}, "runs": runs, "search": search}
    result, started, _ = start(content=content, best="first_d01", fails=["first_d01-s0"])
    assert started[:2] == ["first_d00-s0", "first_d01-s0"]
    assert len(result.failed) == len(result.left_out) == 1
    choices = {c.row: (c.setting, c.incomplete) for c in read_choices(folder)}
    assert choices == {"first": (("d00",), (("d01",),)), "second": (("d00",), (("d01",),))}
    assert {name for name in started if name.endswith("-s2")} == {"first_d00-s2", "second_d00-s2"}


def test_other_draws_are_refused_until_it_is_asked_to_choose_again(start, folder):
    start()
    before = folder.choices.read_bytes()
    with pytest.raises(InputError) as caught:
        start("search.draws=1")
    for word in ("choices.json", "latentdr_pool, phantom_fracture", "choose_again=True", "out="):
        assert word in str(caught.value)
    assert folder.choices.read_bytes() == before
    _, started, said = start("search.draws=1", choose_again=True)
    assert started == ["latentdr_pool_d00-s1", "latentdr_pool_d00-s2"]
    assert "stale, and in no table, because other settings count now; 3 runs" in said
    assert {c.setting for c in read_choices(folder)} == {("d00",)}


def test_more_fresh_seeds_are_added_to_the_same_choice(start, folder):
    start()
    before = folder.choices.read_bytes()
    assert start("search.fresh_seeds=3")[1] == ["erm_d00-s3", "latentdr_pool_d01-s3"]
    assert folder.choices.read_bytes() == before


def test_a_damaged_choice_is_refused_with_its_cure(start, folder):
    start()
    folder.choices.write_text('{"schema": 1')
    folder.sweep.write_text("{half")
    with pytest.raises(InputError, match=r"choices\.json.*choose_again=True"):
        start()
    assert start(choose_again=True)[1] == []


def test_to_choose_again_where_nothing_is_chosen_is_refused(start):
    with pytest.raises(InputError, match=r"has no search\.fresh_seeds"):
        start("search.fresh_seeds=0", choose_again=True)


def test_two_starts_share_a_folder_before_and_after_the_choice(start, folder, tmp_path):
    early = launch.make_plan(CONTENT, (), tmp_path / "S")
    start()
    late = launch.make_plan(CONTENT, (), tmp_path / "S")
    assert (early.record.following, late.record.following) == (4, 0)
    for one, other in ((early, late), (late, early)):
        with at_work(folder) as mine:
            note_plan(mine, one.record)
            refuse_others(folder, other.record)
            with pytest.raises(InputError, match="another plan is running"):
                refuse_others(folder, dataclasses.replace(other.record, members=()))


def test_one_that_finds_the_choice_of_another_process_takes_it(start, folder, monkeypatch):
    real = launch.unsettled

    def meanwhile(*args):
        with monkeypatch.context() as patched:
            patched.setattr(launch, "unsettled", real)
            start()  # another process of the same sweep gets here first
        kept = folder.choices.read_text()
        folder.choices.write_text(kept.replace('"rule": "', '"rule": "theirs: '))
        return real(*args)

    monkeypatch.setattr(launch, "unsettled", meanwhile)
    start()
    assert "theirs: " in folder.choices.read_text()


def test_plan_and_status_tell_how_many_runs_follow(start, folder):
    def printed(show, *values):
        text = io.StringIO()
        show(*values, out=Console(file=text, width=80, highlight=False))
        return text.getvalue()

    start(only="erm*")
    follow = "4 runs with fresh seeds follow once every draw is done or failed"
    status = status_of(folder)
    assert follow in printed(print_status, status)
    text = printed(print_plan, "S", folder.path, status.members, status.following)
    assert follow in text
    start()
    status = status_of(folder)
    text = printed(print_status, status)
    assert "follow" not in text
    assert "7 runs: 7 done" in text
    assert "nothing is left to run" in text


def test_a_run_that_a_signal_ended_counts_as_failed(start, folder, tmp_path):
    plan = launch.make_plan(CONTENT, (), tmp_path / "S")
    launch.write_plan(plan)
    members = plan.record.members
    assert choose.unsettled(folder, members) == [member.run for member in members]
    for member in members:
        write_exit_record(folder, member.run, -9, "killed")
    assert choose.unsettled(folder, members) == []
