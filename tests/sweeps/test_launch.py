"""A sweep is checked wholly before anything is written, and its folder holds what status needs."""

import dataclasses
import json
import os
import signal
import sys
import threading
import time

import pytest

from medldr.config import load_config, run_name
from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.sweep_record import SweepFolder, read_sweep
from medldr.sweeps import launch
from medldr.sweeps.launchers.base import Launcher
from medldr.sweeps.launchers.local import local_launcher
from medldr.sweeps.scheduler import SweepStopped

CONTENT = {
    "common": {"extends": ["run/retinamnist_erm"], "training": {"epochs": 1}},
    "runs": [{"label": "demo"}],
    "axes": {"algorithm": ["erm", "latentdr_pool"]},
    "seeds": [0, 1],
    "table": {"rows": "algorithm"},
}


class Ended:
    """A process that is over at once, without a mistake."""

    def poll(self):
        return 0

    stop = kill = poll


@pytest.fixture
def run_plan(leave):
    """Run a plan whose processes finish their runs at once; gives the result and the jobs.

    `meanwhile` is called before each of them.
    """

    def run(plan, meanwhile=lambda: None):
        started = []

        def start(jobs):
            for job in jobs:
                meanwhile()
                started.append(job)
                leave(plan.folder, job.name, "done")
            return [Ended() for _ in jobs]

        return launch.run_plan(plan, Launcher(start, 2, cores=3, pause_s=0.0)), started

    return run


def test_a_sweep_from_its_file_to_its_end(tmp_path, run_plan):
    plan = launch.make_plan(CONTENT, ["training.lr=0.5"], tmp_path / "S")
    assert not (tmp_path / "S").exists()
    result, started = run_plan(plan)
    names = [entry.member.run for entry in plan.planned]
    assert list(result.done) == names == [job.name for job in started]
    assert len(names) == 4
    assert result.complete
    record = read_sweep(SweepFolder(tmp_path / "S"))
    assert [member.run for member in record.members] == names
    assert record.overrides == ("training.lr=0.5",)
    for entry in plan.planned:
        again = load_config(plan.folder.config(entry.member.run), ["machine.threads=3"])
        assert run_name(again) == entry.member.run
        assert again.training.lr == 0.5


def test_the_command_of_a_member_trains_it_into_the_folder_of_the_sweep(
    tmp_path, monkeypatch, run_plan
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEDLDR_PLUGINS", "mylab")
    plan = launch.make_plan(CONTENT, ["seeds=0", "axes.algorithm=[erm]"], "S")
    _, (job,) = run_plan(plan)
    config = tmp_path / "S" / "configs" / f"{job.name}.yaml"
    assert job.command == (
        sys.executable, "-m", "medldr.cli", "train", str(config), "machine.threads=3",
        "--plugins=mylab", "--out", str(tmp_path / "S"),
    )  # fmt: skip
    assert job.log == tmp_path / "S" / "logs" / f"{job.name}.log"
    assert "medldr.cli train" in job.log.read_text()
    assert (job.devices, job.cores) == (1, 3)


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    runs = [{"label": "one"}, {"label": "two", "after": "one", "training": {"init_from": "after"}}]
    plan = launch.make_plan(CONTENT | {"runs": runs}, ["seeds=0"], "~/S")
    assert plan.folder.path == tmp_path / "S"
    assert {entry.config.training.init_from for entry in plan.planned[-2:]} == {
        tmp_path / "S" / entry.member.run for entry in plan.planned[:2]
    }


def test_only_some_are_started_and_all_are_on_record(tmp_path, run_plan):
    plan = launch.make_plan(CONTENT, (), tmp_path / "S", only="demo_erm")
    result, started = run_plan(plan)
    assert len(started) == len(result.done) == 2
    assert len(read_sweep(plan.folder).members) == 4
    assert len(list(plan.folder.configs.iterdir())) == 4


def test_a_second_start_writes_the_same_and_starts_nothing(tmp_path, run_plan):
    plan = launch.make_plan(CONTENT, (), tmp_path / "S")
    run_plan(plan)
    files = [plan.folder.sweep, *plan.folder.configs.iterdir()]
    before = {path: path.read_bytes() for path in files}
    result, started = run_plan(launch.make_plan(CONTENT, (), tmp_path / "S"))
    assert result.complete
    assert started == []
    assert before == {path: path.read_bytes() for path in files}


def test_a_mistake_in_one_member_starts_and_writes_nothing(tmp_path):
    content = CONTENT | {"axes": {"algorithm": ["erm", "latentdr_pool"]}}
    with pytest.raises(InputError, match="demo_erm"):
        launch.make_plan(content, ["algorithm.degrade=pool"], tmp_path / "S")
    assert list(tmp_path.iterdir()) == []


SAVES = """
import json, signal, sys, time
def say(status): open(sys.argv[1], "w").write(json.dumps({"status": status, "error": "signal"}))
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), say("interrupted"), sys.exit(143)))
say("running")
time.sleep(60)
"""


@pytest.mark.slow
def test_ctrl_c_waits_until_every_process_has_saved(tmp_path):
    plan = launch.make_plan(CONTENT, (), tmp_path / "S")
    local = local_launcher(2)
    runs = []

    def start(jobs):
        for job in jobs:
            runs.append(plan.folder.run(job.name).run)
            runs[-1].parent.mkdir()
        words = [(sys.executable, "-c", SAVES, str(run)) for run in runs[-len(jobs) :]]
        pairs = zip(jobs, words, strict=True)
        return local.start([dataclasses.replace(job, command=said) for job, said in pairs])

    def press():
        while not (len(runs) == 2 and all(run.exists() and run.read_text() for run in runs)):
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    user = threading.Thread(target=press)
    user.start()
    with pytest.raises(SweepStopped, match="stopped: 0 done, 2 interrupted") as stop:
        launch.run_plan(plan, dataclasses.replace(local, start=start))
    user.join()
    assert stop.value.signum == signal.SIGINT
    assert [json.loads(run.read_text())["status"] for run in runs] == ["interrupted"] * 2
    assert not list(plan.folder.logs.glob("*.json"))


def test_another_plan_does_not_replace_one_at_work(tmp_path, run_plan):
    plan = launch.make_plan(CONTENT, (), tmp_path / "S")
    late = launch.make_plan(CONTENT, ["seeds=0"], tmp_path / "S")  # checked in the same moment
    same = launch.make_plan(CONTENT, ["seeds=[0,1]"], tmp_path / "S")
    assert same.planned == plan.planned
    refused = []

    def meanwhile():
        launch.make_plan(CONTENT, ["seeds=[0,1]"], tmp_path / "S")
        with pytest.raises(InputError, match="another plan is running"):
            launch.make_plan(CONTENT, ["seeds=0"], tmp_path / "S")
        with pytest.raises(InputError, match="another plan is running"):
            run_plan(late)
        refused.append(late)

    assert run_plan(plan, meanwhile)[0].complete
    assert len(refused) == 4
    assert len(read_sweep(plan.folder).members) == 4
    assert run_plan(same)[0].complete
    assert not list((plan.folder.logs / "sweeps").iterdir())
    launch.make_plan(CONTENT, ["seeds=0"], tmp_path / "S")


def test_a_damaged_record_is_written_anew(tmp_path, run_plan):
    (tmp_path / "S").mkdir()
    (tmp_path / "S" / "sweep.json").write_text("{half")
    plan = launch.make_plan(CONTENT, (), tmp_path / "S")
    run_plan(plan)
    assert len(read_sweep(plan.folder).members) == 4


def test_several_nodes_are_refused_naming_the_member(tmp_path):
    with pytest.raises(InputError, match=r"machine\.nodes in demo_erm"):
        launch.make_plan(CONTENT, ["machine.nodes=2"], tmp_path / "S")
    assert not (tmp_path / "S").exists()


@pytest.mark.parametrize(
    ("own", "devices", "recorded", "checkpoint", "threads"),
    [
        (2, 1, 5, True, 2),  # what the configuration says counts
        (None, 1, 5, True, 5),  # a state that is resumed keeps its number
        (None, 1, 5, False, 8),  # without a state there is nothing to keep
        (None, 1, None, True, 8),
        (None, 4, None, False, 2),  # the processes of a run share its cores
        (None, 16, None, False, 1),
    ],
)
def test_threads_are_shared_out(tmp_path, own, devices, recorded, checkpoint, threads):
    config = load_config("retinamnist_erm", [f"machine.devices={devices}"])
    machine = config.machine.model_copy(update={"threads": own})
    config = config.model_copy(update={"machine": machine})
    run = RunFolder(tmp_path)
    run.checkpoints.mkdir()
    run.run.write_text(json.dumps({"status": "interrupted", "threads": recorded}))
    if checkpoint:
        run.last.touch()
    assert launch.threads_of(config, run, cores=8) == threads
