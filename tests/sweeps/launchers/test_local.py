"""Real processes: their devices, their output, how they are stopped, whom they do not outlive."""

import os
import signal
import subprocess
import sys

import pytest

from medldr.sweeps.launchers import dies_with_parent, local
from medldr.sweeps.launchers.base import Job

SLOW = "import signal, sys, time; {}; print('ready', flush=True); time.sleep(60)"
SAVES = "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(143)))"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def _job(tmp_path, code, **facts):
    return Job("a", (sys.executable, "-c", code), tmp_path / "a.log", **facts)


def test_it_is_a_process_of_its_own_with_a_log_and_an_exit_code(tmp_path, end_of):
    (tmp_path / "a.log").write_text("before\n")
    code = (
        "import os, signal, sys; print(os.getsid(0) == os.getpid(), sys.stdin.read() == '', "
        "signal.getsignal(signal.SIGUSR2) == signal.SIG_IGN, flush=True); "
        "print('err', file=sys.stderr); sys.exit(3)"
    )
    (handle,) = local.local_launcher(1).start([_job(tmp_path, code)])
    assert end_of(handle) == 3
    assert (tmp_path / "a.log").read_text() == "before\nTrue True True\nerr\n"


def test_stopping_lets_it_save_and_killing_does_not(tmp_path, says, end_of):
    (handle,) = local.local_launcher(1).start([_job(tmp_path, SLOW.format(SAVES))])
    says(tmp_path / "a.log", "ready")
    assert handle.poll() is None
    handle.stop()
    assert end_of(handle) == 143
    assert "saved" in (tmp_path / "a.log").read_text()
    (tmp_path / "a.log").unlink()
    (handle,) = local.local_launcher(1).start([_job(tmp_path, SLOW.format(DEAF))])
    says(tmp_path / "a.log", "ready")
    handle.stop()
    handle.kill()
    assert end_of(handle) == -signal.SIGKILL
    handle.stop()  # nothing is left to be stopped
    handle.kill()


def test_where_one_cannot_start_those_before_it_are_stopped(tmp_path, monkeypatch):
    stopped = []

    class Played:
        def __init__(self, job, shares, server):
            self.name = job.name
            if self.name == "b":
                raise BlockingIOError("no more processes")

        def stop(self):
            stopped.append(self.name)

    monkeypatch.setattr(local, "LocalProcess", Played)
    jobs = [Job(name, ("true",), tmp_path / "x.log") for name in "abc"]
    with pytest.raises(BlockingIOError):
        local.local_launcher(3).start(jobs)
    assert stopped == ["a"]


def test_devices_are_shared_out_evenly():
    shares = local.Shares(["0", "1", "2"])
    first, second = shares.take(2), shares.take(1)
    assert (first, second) == (["0", "1"], ["2"])
    assert shares.take(1) == ["0"]
    shares.give(second)
    assert shares.take(2) == ["1", "2"]
    assert shares.take(9) == ["0", "1", "2"]  # the run itself says that there are not so many
    assert shares.take(0) == []
    assert local.Shares([]).take(2) == []


@pytest.mark.parametrize(
    ("given", "count", "names"),
    [
        (None, 2, ["0", "1"]),
        ("", 0, []),
        ("3, 5", 2, ["3", "5"]),
        ("GPU-aa,GPU-bb", 2, ["GPU-aa", "GPU-bb"]),
        ("0,-1,1", 1, ["0"]),
    ],
)
def test_the_users_choice_of_devices_is_kept(monkeypatch, given, count, names):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if given is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", given)
    assert local.visible_devices() == names


def test_each_process_sees_its_own_devices_only(tmp_path, monkeypatch, end_of):
    monkeypatch.setattr(local, "visible_devices", lambda: ["4", "7"])
    launcher = local.local_launcher()
    assert launcher.slots == 2
    code = "import os; print(os.environ.get('CUDA_VISIBLE_DEVICES'))"
    words = (sys.executable, "-c", code)
    jobs = [Job(n, words, tmp_path / n, devices=d) for n, d in [("a", 1), ("b", 1), ("c", 2)]]
    handles = launcher.start(jobs)
    for handle in handles:
        end_of(handle)
    assert [(tmp_path / n).read_text().strip() for n in "abc"] == ["4", "7", "4,7"]


def test_cores_are_shared_out_among_the_slots(monkeypatch):
    monkeypatch.setattr(local, "cores", lambda: 8)
    monkeypatch.setattr(local, "visible_devices", list)
    assert [local.local_launcher(jobs).cores for jobs in (None, 2, 3, 100)] == [8, 4, 2, 1]
    assert local.local_launcher().slots == 1


def test_it_is_the_same_process_with_the_same_words(tmp_path):
    code = "import os, sys; print(os.getpid(), sys.argv[1:])"
    command = dies_with_parent.dies_with_parent([sys.executable, "-c", code, "a b", "--c"])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said, _ = process.communicate()
    assert said == f"{process.pid} ['a b', '--c']\n"
    assert process.returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a parent")
def test_it_is_told_when_who_started_it_is_killed(tmp_path, says):
    log = tmp_path / "a.log"
    code = SLOW.format(SAVES)
    parent = (
        "import subprocess, sys, time\n"
        "from medldr.sweeps.launchers import dies_with_parent\n"
        f"words = dies_with_parent.dies_with_parent([sys.executable, '-c', {code!r}])\n"
        "subprocess.Popen(words, "
        f"stdout=open({str(log)!r}, 'w'), start_new_session=True)\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent])
    says(log, "ready")
    process.kill()
    process.wait()
    says(log, "saved")


def test_a_parent_that_is_gone_already_ends_it(monkeypatch):
    monkeypatch.setattr(os, "execvp", lambda *words: pytest.fail("it went on"))
    before = signal.getsignal(signal.SIGUSR2)
    monkeypatch.setattr(dies_with_parent.ctypes, "CDLL", lambda *_, **__: _NoSystem())
    try:
        with pytest.raises(SystemExit) as end:
            dies_with_parent.become(-1, ["anything"])
    finally:
        signal.signal(signal.SIGUSR2, before)
    assert end.value.code == 143


class _NoSystem:
    def prctl(self, *words):
        return 0
