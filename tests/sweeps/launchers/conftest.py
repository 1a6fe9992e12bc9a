"""A program that does what its first word says, in Python: a member to be played with."""

import sys
import time

import pytest

from medldr.sweeps.launchers.base import Job
from medldr.sweeps.launchers.forked import ForkServer
from medldr.sweeps.launchers.local import LocalProcess, Shares


@pytest.fixture
def until():
    """Wait for something to happen."""

    def wait(happened, seconds=30.0):
        end = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    return wait


class Members:
    """Members of a sweep whose program is `played`.

    Args:
        folder: Where their logs go.
        until: The fixture.
        modules: What its server imports.
    """

    def __init__(self, folder, until, modules=()):
        self.folder = folder
        self.until = until
        self.server = ForkServer("played", modules)
        self.handles = []

    def job(self, name, code, **facts):
        command = (sys.executable, "-m", "played", code)
        return Job(name, command, self.folder / f"{name}.log", **facts)

    def start(self, name, code, *, forked=True, **facts):
        job = self.job(name, code, **facts)
        handle = LocalProcess(job, Shares([]), self.server if forked else None)
        self.handles.append(handle)
        return handle

    def end(self, handle):
        self.until(lambda: handle.poll() is not None)
        return handle.poll()

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def says(self, name, text):
        self.until(lambda: text in self.log(name))


@pytest.fixture
def play(tmp_path, monkeypatch, until):
    """Make `Members`; none of them outlives the test."""
    (tmp_path / "played.py").write_text("import sys\nexec(sys.argv[1])\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    made = []

    def make(*modules):
        made.append(Members(tmp_path, until, modules))
        return made[-1]

    yield make
    for members in made:
        for handle in members.handles:
            handle.kill()
            members.end(handle)
        members.server.close()
