"""`medldr sweep` from its words to its exit code; the runs themselves are only played."""

import json
import re
import signal

import pytest

import medldr as package
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.sweeps import command, launch
from medldr.sweeps.launchers.base import Launcher

FILE = """\
# A demonstration.
common:
  extends: [run/retinamnist_erm]
runs:
  - label: demo
axes:
  algorithm: [erm, latentdr_pool]
table:
  rows: algorithm
"""


@pytest.fixture
def file(tmp_path, tmp_path_factory, monkeypatch):
    data = tmp_path_factory.mktemp("data")
    (data / "retinamnist.npz").touch()  # a sweep looks whether it is there
    monkeypatch.setenv("MEDLDR_DATA", str(data))
    path = tmp_path / "demo.yaml"
    path.write_text(FILE)
    monkeypatch.chdir(tmp_path)
    return path


class Ended:
    def __init__(self, code):
        self.code = code

    def poll(self):
        return self.code

    def stop(self):
        self.code = 143

    kill = stop


@pytest.fixture
def played(monkeypatch):
    """Runs that fail, without a process; what the launcher was asked for is returned."""
    asked = {"jobs": [], "code": 1}

    def make(jobs):
        def start(wanted):
            asked["jobs"] += wanted
            return [Ended(asked["code"]) for _ in wanted]

        asked["slots"] = jobs
        return Launcher(start, jobs or 1, cores=1, pause_s=0.0)

    monkeypatch.setattr(command, "local_launcher", make)
    return asked


def test_a_dry_run_shows_every_run_and_writes_nothing(file, medldr):
    ended = medldr("sweep", file, "seeds=[0,1]", "--dry-run")
    assert ended.code == 0
    assert ended.out.count("demo_erm ") == 2
    assert "demo: 4 runs: 4 waiting" in ended.out
    assert [path.name for path in file.parent.iterdir()] == ["demo.yaml"]


def test_failures_are_reported_and_told_by_the_exit_code(file, medldr, played):
    ended = medldr("sweep", file, "--jobs", "2")
    assert ended.code == 3
    assert played["slots"] == 2
    assert len(played["jobs"]) == 2
    assert "2 failed, 0 left out" in ended.err
    # Once when it happened, and once at the end.
    assert ended.err.count("exit code 1 without any output") == 2
    assert re.search(r"2 runs: demo_erm-\w+-s0, demo_latentdr_pool-\w+-s0\n", ended.err)
    assert "--retry-failed" in ended.err
    folder = SweepFolder(file.parent / "runs" / "demo")
    for path in (folder.report, folder.markdown, folder.csv, folder.latex, folder.latex_table):
        assert path.stat().st_size > 0
    again = medldr("sweep", file)
    assert again.code == 3
    assert len(played["jobs"]) == 2
    medldr("sweep", file, "--retry-failed", "--only", "demo_erm")
    assert len(played["jobs"]) == 3
    told = medldr("sweep", "status", folder.path)
    assert told.code == 0
    assert "demo: 2 runs: 2 failed" in told.out
    assert "exit code 1 without any output" in told.out


def test_a_signal_stops_the_sweep_with_one_line_and_its_exit_code(
    file, medldr, played, monkeypatch
):
    played["code"] = None
    monkeypatch.setattr(
        launch.StopWatch, "wait", lambda self, seconds: signal.raise_signal(signal.SIGTERM)
    )
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    ended = medldr("sweep", file)
    assert ended.code == 143
    assert "stopped: 0 done, 1 interrupted. Run the same command to resume" in ended.err
    assert "Traceback" not in ended.err
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert not SweepFolder("runs/demo").report.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["demo.yaml", "--launcher", "slrm"], ["--launcher", "'slurm'"]),
        (["demo.yaml", "--jobs", "0"], ["--jobs"]),
        (["demo.yaml", "--only", "nothing"], ["nothing"]),
        (["demo.yaml", "training.lerning_rate=1"], ["training.lerning_rate", "demo_erm"]),
        (["statu"], ["Did you mean 'status'? `medldr sweep status DIR`"]),
        (["status"], ["medldr sweep status DIR"]),
        (["status", "."], ["sweep.json"]),
    ],
)
def test_a_mistake_is_told_and_nothing_is_written(file, medldr, words, said):
    ended = medldr("sweep", *words)
    assert ended.code == 2
    for word in said:
        assert word in " ".join(ended.err.split())
    assert [path.name for path in file.parent.iterdir()] == ["demo.yaml"]


def test_a_sweep_may_be_called_almost_like_status(file, medldr):
    file.rename(file.parent / "stats")
    ended = medldr("sweep", "stats", "--dry-run")
    assert ended.code == 0


def test_the_function_returns_what_the_command_prints(file, played):
    result = package.sweep(file, ["seeds=5"], out="S", only="demo_erm")
    (name,) = result.failed
    assert name.startswith("demo_erm-")
    assert name.endswith("-s5")
    assert not result.complete
    assert (result.done, result.left_out) == ((), {})
    assert json.loads((result.folder / "logs" / f"{name}.json").read_text())["code"] == 1
    assert SweepFolder("S").report.exists()


def test_a_folder_of_another_sweep_is_left_alone(file, medldr, tmp_path):
    folder = SweepFolder(tmp_path / "S")
    write_sweep(folder, Sweep("other", Layout("Other"), (Member("a", "a", 0, "a", "c"),)))
    before = folder.sweep.read_bytes()
    ended = medldr("sweep", file, "--out", folder.path)
    assert ended.code == 2
    assert "'other'" in ended.err
    assert folder.sweep.read_bytes() == before


def test_absent_data_is_told_before_anything_starts(file, medldr, played):
    ended = medldr("sweep", file, "data.root=nowhere")
    assert ended.code == 2
    assert ended.err.count("retinamnist.npz is not in") == 1
    assert "in demo_erm and 1 more run" in ended.err
    assert not played["jobs"]
    assert [path.name for path in file.parent.iterdir()] == ["demo.yaml"]
    dry = medldr("sweep", file, "data.root=nowhere", "--dry-run")
    assert dry.code == 0
    assert "retinamnist.npz is not in" in dry.err
