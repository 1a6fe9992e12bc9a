"""A process that does not outlive who started it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from medldr.sweeps.launchers import dies_with_parent

SAVES = (
    "import signal, sys, time\n"
    "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(143)))\n"
    "print('ready', flush=True)\n"
    "time.sleep(60)"
)


def _until(happened, seconds=30.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def _says(path, text):
    return lambda: path.exists() and text in path.read_text()


def test_it_is_the_same_process_with_the_same_words(tmp_path):
    code = "import os, sys; print(os.getpid(), sys.argv[1:])"
    command = dies_with_parent.dies_with_parent([sys.executable, "-c", code, "a b", "--c"])
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said, _ = process.communicate()
    assert said == f"{process.pid} ['a b', '--c']\n"
    assert process.returncode == 0


def test_a_program_that_is_not_there_is_an_error():
    ended = subprocess.run(
        dies_with_parent.dies_with_parent(["no-such-program"]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "FileNotFoundError" in ended.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals the end of a parent")
def test_it_is_told_when_who_started_it_is_killed(tmp_path):
    log = tmp_path / "a.log"
    parent = (
        "import subprocess, sys, time\n"
        "from medldr.sweeps.launchers import dies_with_parent\n"
        f"subprocess.Popen(dies_with_parent.dies_with_parent([sys.executable, '-c', {SAVES!r}]), "
        f"stdout=open({str(log)!r}, 'w'), start_new_session=True)\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", parent])
    _until(_says(log, "ready"))
    process.kill()
    process.wait()
    _until(_says(log, "saved"))


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
