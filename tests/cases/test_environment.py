"""What of a machine can be wrong: display, home, folders, two starts at once."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from medldr.evaluation import evaluate_rules as rules
from medldr.reporting import reports as page_module

HERE = Path(__file__).parent


@pytest.fixture
def start():
    """Start the command in a process of its own; what is still there is killed in the end."""
    started = []

    def run(*words, **env):
        unset = {"MPLBACKEND", "MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
        kept = {k: v for k, v in os.environ.items() if k not in unset}
        process = subprocess.Popen(
            [sys.executable, "-m", "medldr.cli", *map(str, words)],
            env=kept | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE)} | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_dead_display_and_a_home_that_cannot_be_written_cost_no_page(start, write, out, the_run):
    path = write(machine={"report": True, "threads": 1})
    home = "/proc/no-home"  # cannot be made, not even by the superuser
    process = start("train", path, "--out", out, DISPLAY="localhost:64.0", HOME=home)
    said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    assert "Traceback" not in said
    page = the_run().report.read_text()
    assert "<svg" in page or "data:image/png" in page


def test_a_plot_that_fails_is_a_warning_and_ends_nothing(train, the_run, medldr, monkeypatch):
    def broken(source):
        raise RuntimeError("no display")

    with monkeypatch.context() as patch:
        patch.setattr(page_module, "run_page", broken)
        with pytest.warns(page_module.ReportWarning, match="medldr report"):
            ended = train("machine.report=true")
    assert ended.code == 0
    assert json.loads(the_run().run.read_text())["status"] == "done"
    assert not the_run().report.exists()
    assert medldr("report", the_run().path).code == 0
    assert the_run().report.exists()


def test_a_page_on_a_full_disk_costs_no_result(train, the_run, full_disk):
    assert train().code == 0
    with full_disk() as fill:
        fill(10_000)
        with pytest.warns(page_module.ReportWarning, match="no space left"):
            ended = train("machine.report=true")
    assert ended.code == 0
    assert "had already finished" in ended.out
    assert train("machine.report=true").code == 0
    assert the_run().report.exists()


@pytest.mark.parametrize("place", ["a file", "below a file", "too long"])
def test_an_out_folder_that_cannot_be_is_one_message(place, medldr, write, tmp_path):
    (tmp_path / "file").write_text("mine")
    target = {"a file": "file", "below a file": "file/runs", "too long": "x" * 300}[place]
    ended = medldr("train", write(), "--out", tmp_path / target)
    assert ended.code == 2
    assert str(tmp_path / target) in ended.err
    assert "--out" in ended.err
    assert (tmp_path / "file").read_text() == "mine"


def test_paths_with_spaces_and_links_are_paths(medldr, write, tmp_path, monkeypatch):
    path = write(name="my config (1)")
    (tmp_path / "o ut ü").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "o ut ü")
    monkeypatch.chdir(tmp_path)
    assert medldr("train", path, "training.epochs=1", "--out", "./link").code == 0
    (folder,) = (tmp_path / "o ut ü").iterdir()
    assert folder.name.startswith("my_config_1-")
    assert medldr("evaluate", folder, "--device", "cpu").code == 0


@pytest.mark.slow
def test_of_two_starts_at_once_one_works_and_one_says_who_does(start, write, out, the_run, history):
    path = write(training={"epochs": 40}, machine={"threads": 1})
    both = [start("train", path, "--out", out) for _ in range(2)]
    ended = [(process.communicate(timeout=200)[0], process.returncode) for process in both]
    assert sorted(code for _, code in ended) in ([0, 2], [0, 0])
    for said, code in ended:
        assert "Traceback" not in said
        assert code == 0 or "in use by process" in said or "taken over" in said
    assert [row["epoch"] for row in history(the_run())] == list(range(1, 41))
    assert json.loads(the_run().run.read_text())["status"] == "done"


@pytest.mark.slow
@pytest.mark.parametrize("file", ["predictions.csv", "checkpoints/best.ckpt"])
def test_a_run_killed_right_after_writing_a_file_goes_on(file, start, write, out, the_run, medldr):
    path = write(training={"epochs": 30}, machine={"threads": 1})
    process = start("train", path, "--out", out)
    deadline = time.monotonic() + 100
    while not list(out.glob(f"*/{file}")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    # By the command that was typed; the threads are part of what a resumed run must keep.
    ended = medldr("train", path, "--out", out)
    assert ended.code == 0, ended.err
    assert json.loads(the_run().run.read_text())["status"] == "done"
    assert not list(the_run().path.rglob("*.tmp")), "left by the killed process"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGINT, "stopped"),
        (signal.SIGTERM, "stopped by SIGTERM. Run the same command to resume"),
        (signal.SIGUSR1, "stopped by SIGUSR1. Run the same command to resume"),
    ],
    ids=["SIGINT", "SIGTERM", "SIGUSR1"],
)
def test_a_signal_after_the_training_ends_the_run_as_one_within(
    number, said, train, the_run, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(rules, "evaluate", lambda *_, **__: signal.raise_signal(number))
        ended = train()
    assert ended.code == 128 + number
    assert ended.err.splitlines()[-1].startswith(said)
    assert json.loads(the_run().run.read_text())["status"] == "interrupted"
    assert not the_run().evaluation.exists()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    ended = train()
    assert ended.code == 0
    assert "resumed after step 4 of 4" in ended.err
