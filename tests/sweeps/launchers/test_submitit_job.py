"""A job of submitit: its exit code, its end of time, its being stopped; with its local executor."""

import os
import signal
import subprocess
import sys
import time

import pytest
import submitit

from medldr.sweeps.launchers import submitit_job as submitted
from medldr.sweeps.launchers.submitit_job import ClusterJob, Command

SAVES = (
    "import os, signal, sys, time\n"
    "def save(*_):\n"
    "    print('saved', flush=True)\n"
    "    sys.exit(143)\n"
    "signal.signal(signal.SIGTERM, save)\n"
    "print('ready', os.getppid(), flush=True)\n"
)
WAITS = SAVES + "time.sleep(60)"


def _until(happened, seconds=60.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.fixture
def submit(tmp_path):
    def submit(code, log=None):
        executor = submitit.LocalExecutor(tmp_path / "slurm", max_num_timeout=5)
        executor.update_parameters(timeout_min=5)
        log = log or tmp_path / "a.log"
        ended = []
        job = executor.submit(Command((sys.executable, "-c", code), str(log)))
        handle = ClusterJob(job, tmp_path / "a.log", lambda: ended.append(1))
        handle.ended = ended
        return handle

    return submit


def _end(handle):
    _until(lambda: handle.poll() is not None)
    assert handle.ended == [1]
    return handle.poll()


def test_it_gives_the_exit_code_of_its_run_and_logs_what_that_prints(submit, tmp_path):
    assert _end(submit("print('hello'); raise SystemExit(3)")) == 3
    assert (tmp_path / "a.log").read_text() == "hello\n"


def test_when_its_time_is_over_the_run_saves_and_is_started_again(submit, tmp_path):
    log = tmp_path / "a.log"
    mark = tmp_path / "mark"
    code = (
        SAVES
        + f"if os.path.exists({str(mark)!r}): sys.exit(0)\n"
        + f"open({str(mark)!r}, 'w').close()\n"
        + "print('now', flush=True)\ntime.sleep(60)"
    )
    handle = submit(code)
    _until(lambda: log.exists() and "now" in log.read_text())
    assert handle.poll() is None
    # What submitit's controller and SLURM send to the job shortly before its time is over.
    os.kill(int(log.read_text().split()[1]), signal.SIGUSR2)
    assert _end(handle) == 0
    assert [line.split()[0] for line in log.read_text().splitlines()] == [
        "ready", "now", "saved", "ready",
    ]  # fmt: skip


def test_stopping_lets_the_run_save(submit, tmp_path):
    log = tmp_path / "a.log"
    handle = submit(WAITS)
    _until(lambda: log.exists() and "ready" in log.read_text())
    handle.stop()
    assert _end(handle) == 143
    assert "saved" in log.read_text()
    handle.kill()  # nothing is left


def test_a_fault_of_the_job_itself_is_told_in_the_log(submit, tmp_path):
    handle = submit("pass", log=tmp_path / "nowhere" / "a.log")
    assert _end(handle) == 1
    assert "error: the job failed" in (tmp_path / "a.log").read_text()


def test_the_end_of_its_time_waits_until_the_run_has_saved(tmp_path):
    with (tmp_path / "a.log").open("w") as log:
        child = subprocess.Popen([sys.executable, "-c", WAITS], stdout=log)
    _until(lambda: "ready" in (tmp_path / "a.log").read_text())
    command = Command(("train",), "a.log", devices="0", process=child.pid)
    again = command.checkpoint()
    assert (tmp_path / "a.log").read_text().endswith("saved\n")
    assert child.wait() == 143
    assert again.function == Command(("train",), "a.log", devices="0")
    command.checkpoint()  # one that has ended by itself is no problem


def test_on_a_cluster_it_hides_srun_from_the_run_and_waits_for_what_follows_a_stop(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(submitted, "_GRACE_S", 0.3)
    before = signal.getsignal(signal.SIGTERM)
    code = "import os, sys; print(os.environ['SLURM_JOB_NAME'], os.environ['CUDA_VISIBLE_DEVICES'])"
    command = Command((sys.executable, "-c", code), str(tmp_path / "a.log"), devices="5")
    assert command() == 0
    assert (tmp_path / "a.log").read_text() == "interactive 5\n"
    assert signal.getsignal(signal.SIGTERM) is before
    waits = Command((sys.executable, "-c", "raise SystemExit(143)"), str(tmp_path / "a.log"))
    began = time.monotonic()
    assert waits() == 143
    assert time.monotonic() - began >= 0.3


class Told:
    """A job of which only the state is known."""

    job_id = "7"

    def __init__(self, state, path):
        self.state = state
        self.paths = type("Paths", (), {"result_pickle": path / "absent"})

    def done(self, force_check):
        return self.state != "RUNNING"


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("RUNNING", None),
        ("CANCELLED by 1000", -signal.SIGTERM),
        ("PREEMPTED", -signal.SIGTERM),
        ("TIMEOUT", -signal.SIGKILL),
        ("NODE_FAIL", -signal.SIGKILL),
        ("OUT_OF_MEMORY", -signal.SIGKILL),
        ("FAILED", 1),
    ],
)
def test_a_job_without_a_result_is_told_by_its_state(tmp_path, state, code):
    log = tmp_path / "a.log"
    assert ClusterJob(Told(state, tmp_path), log).poll() == code
    if code in (1, -signal.SIGKILL):
        assert f"ended as {state}" in log.read_text()
