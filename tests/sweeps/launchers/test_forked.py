"""Members forked from a server: as a process by itself would be, and as independent."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from medldr.sweeps.launchers import forked
from medldr.sweeps.launchers.base import Job
from medldr.sweeps.launchers.forked import ForkServer
from medldr.sweeps.launchers.local import LocalProcess, Shares

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="members are forked on Linux alone")

SAVES = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("saved", flush=True), sys.exit(143)))
print("ready", os.getpid(), os.getppid(), flush=True)
time.sleep(60)
"""
GOES_ON = (
    """
from pathlib import Path
if Path("began").exists():
    print("went on", flush=True)
    raise SystemExit(0)
Path("began").touch()
"""
    + SAVES
)

STATE = """
import logging, numpy, os, signal, sys, threading, warnings
streams = [sys.stdin, sys.stdout, sys.stderr]
state = {
    "signals": {int(n): str(signal.getsignal(n)) for n in signal.valid_signals()},
    "blocked": [*signal.pthread_sigmask(signal.SIG_BLOCK, [])],
    "wake": signal.set_wakeup_fd(-1),
    "words": sys.argv,
    "main": (sys.modules["__main__"].__spec__.name, sys.modules["__main__"].__file__),
    "flags": str(sys.flags),
    "path": sys.path,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
    "leads": (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()),
    "files": {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)},
    "open": [fd for fd in range(3, 64) if os.path.exists(f"/proc/self/fd/{fd}")],
    "modes": [(s.encoding, s.errors, s.line_buffering, s.isatty(), s.fileno()) for s in streams],
    "same": os.path.sameopenfile(1, 2),
    "read": sys.stdin.read(),
    "warnings": [str(f) for f in warnings.filters],
    "handlers": str(logging.root.handlers),
    "threads": (threading.active_count(), threading.current_thread().name),
    "mask": os.umask(0),
}
print(state)
"""


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


def _pids(members, name):
    words = members.log(name).split()
    return int(words[1]), int(words[2])


@pytest.mark.slow
def test_a_forked_process_is_as_one_by_itself(play):
    members = play("numpy")
    for name in ("forked", "plain"):
        handle = members.start(name, STATE, forked=name == "forked")
        assert members.end(handle) == 0
    states = {
        name: ast.literal_eval(members.log(name).replace(f"/{name}.log", "/log"))
        for name in ("forked", "plain")
    }
    assert [key for key in states["plain"] if states["forked"][key] != states["plain"][key]] == []
    assert states["forked"]["leads"] == (True, True)


ENDINGS = {
    "pass": 0,
    "raise SystemExit(3)": 3,
    "raise ValueError('broken')": 1,
    "import os; os._exit(7)": 7,
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "import os; os.abort()": -signal.SIGABRT,
}


@pytest.mark.slow
def test_its_ending_is_the_processs_own_and_others_go_on(play):
    members = play()
    other = members.start("other", SAVES)
    members.says("other", "ready")
    for code, ending in ENDINGS.items():
        name = str(ending)
        assert members.end(members.start(name, code)) == ending
        assert ("ValueError: broken" in members.log(name)) == (ending == 1)
    assert other.poll() is None
    other.stop()
    assert members.end(other) == 143
    assert members.end(members.start("0", "print('again')")) == 0
    assert members.log("0").endswith("again\n")
    assert members.server.news() == []


def test_members_share_what_was_imported_and_draw_their_own_numbers(play, tmp_path):
    (tmp_path / "slow_one.py").write_text("import os\nNUMBER = os.getpid()")
    members = play("numpy", "random", "slow_one")
    draw = (
        "import os, random, numpy, slow_one\n"
        "print(os.getppid(), slow_one.NUMBER, numpy.random.rand(), random.random())"
    )
    handles = [members.start(name, draw) for name in "ab"]
    assert [members.end(handle) for handle in handles] == [0, 0]
    (parent, imported, *first), (same, again, *second) = (
        members.log(name).split() for name in "ab"
    )
    assert parent == imported == same == again
    assert not set(first) & set(second)


@pytest.mark.slow
def test_stopping_lets_it_save_and_killing_ends_what_it_started_too(play, until):
    members = play()
    handle = members.start("a", SAVES)
    members.says("a", "ready")
    handle.stop()
    assert members.end(handle) == 143
    assert "saved" in members.log("a")
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('ready', child.pid, 0, flush=True)\n"
        "time.sleep(60)"
    )
    handle = members.start("b", code)
    members.says("b", "ready")
    handle.stop()
    handle.kill()
    assert members.end(handle) == -signal.SIGKILL
    until(lambda: not forked._is_alive(_pids(members, "b")[0]))
    handle.stop()  # nothing is left to be stopped
    handle.kill()
    for _ in range(5):  # one asked to stop at once is not deaf
        handle = members.start("c", "import time; time.sleep(60)")
        handle.stop()
        assert members.end(handle) == -signal.SIGTERM


def test_stopping_does_not_wait_for_the_imports(play, tmp_path):
    (tmp_path / "endless.py").write_text("import time\ntime.sleep(60)")
    members = play("endless")
    handle = members.start("a", "print('ran')")
    assert handle.poll() is None
    handle.stop()
    assert members.end(handle) == -signal.SIGTERM
    assert members.log("a") == ""


@pytest.mark.slow
def test_when_the_server_is_killed_its_members_save_and_go_on_by_themselves(play):
    members = play()
    handle = members.start("a", GOES_ON)
    members.says("a", "ready")
    _, server = _pids(members, "a")
    os.kill(server, signal.SIGTERM)  # it outlives that: its life is the sweep's
    assert members.end(members.start("b", "pass")) == 0
    os.kill(server, signal.SIGKILL)
    assert members.end(handle) == 0
    assert members.log("a").endswith("saved\nwent on\n")
    assert not members.server.takes(members.job("b", "pass"))
    assert [("as a new process" in note) for note in members.server.news()] == [True]
    assert members.server.news() == []
    assert members.end(members.start("b", "print('still')")) == 0


def test_one_that_was_stopped_is_not_started_again_by_the_end_of_its_server(play):
    members = play()
    handle = members.start("a", GOES_ON)
    members.says("a", "ready")
    _, server = _pids(members, "a")
    os.kill(server, signal.SIGSTOP)  # it can neither pass the signal on nor report an ending
    handle.stop()
    os.kill(server, signal.SIGKILL)
    assert members.end(handle) == -signal.SIGTERM
    assert "went on" not in members.log("a")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        (
            "import threading, time\n"
            "threading.Thread(target=time.sleep, args=(60,), name='beat').start()",
            "imports started threads: beat",
        ),
    ],
)
def test_what_cannot_be_imported_for_all_is_left_to_each(play, tmp_path, text, reason):
    (tmp_path / "unfit.py").write_text(text)
    members = play("unfit")
    assert members.end(members.start("a", "print('ran')")) == 0
    assert members.log("a") == "ran\n"
    (note,) = members.server.news()
    assert reason in note


def test_a_server_without_room_leaves_the_member_to_itself(play, tmp_path):
    (tmp_path / "full.py").write_text(
        "import os\ndef fork():\n    raise BlockingIOError('no more processes')\nos.fork = fork"
    )
    members = play("full")
    assert members.end(members.start("a", "import os; print(os.getppid())")) == 0
    assert int(members.log("a")) == os.getpid()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_members_of_a_killed_sweep_save_and_its_server_ends(play, until, tmp_path):
    members = play()
    sweep = f"""
        import sys, time
        from pathlib import Path
        from medldr.sweeps.launchers.base import Job
        from medldr.sweeps.launchers.forked import ForkServer
        command = (sys.executable, "-m", "played", {SAVES!r})
        member = ForkServer("played", ()).start(Job("a", command, Path({str(tmp_path)!r}, "a.log")))
        time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(sweep)])
    try:
        members.says("a", "ready")
    finally:
        process.kill()
        process.wait()
    members.says("a", "saved")
    until(lambda: not any(forked._is_alive(pid) for pid in _pids(members, "a")))


@pytest.mark.slow
def test_closing_ends_the_server_after_its_members(play, until):
    members = play()
    handle = members.start("a", SAVES)
    members.says("a", "ready")
    _, server = _pids(members, "a")
    members.server.close()
    assert not members.server.takes(members.job("b", "pass"))
    assert handle.poll() is None
    assert forked._is_alive(server)
    handle.stop()
    assert members.end(handle) == 143
    until(lambda: not forked._is_alive(server))
    assert members.server.news() == []
    idle = play()
    idle.end(idle.start("c", "pass"))
    idle.server.close()
    assert idle.server._process.returncode == 0
    play().server.close()  # one that never began


def test_only_a_member_that_a_fork_can_be_is_forked(play, monkeypatch, tmp_path):
    members = play()
    taken = members.job("a", "pass")
    assert members.server.takes(taken)
    assert not members.server.takes(members.job("a", "pass", processes=2))
    assert not members.server.takes(Job("a", (sys.executable, "-c", "pass"), tmp_path / "a.log"))
    members.end(members.start("a", "pass"))
    with monkeypatch.context() as here:
        here.setenv("OMP_NUM_THREADS", "7")
        assert not members.server.takes(taken)
    with monkeypatch.context() as here:
        here.chdir("/")
        assert not members.server.takes(taken)
    assert members.server.takes(taken)
    monkeypatch.setattr(forked.sys, "platform", "darwin")
    assert not members.server.takes(taken)


def test_our_own_plugins_are_shared_and_those_from_outside_are_not(monkeypatch):
    import medldr.losses.cross_entropy

    monkeypatch.setitem(sys.modules, "mylab.losses.cross_entropy", medldr.losses.cross_entropy)
    assert "medldr.losses.cross_entropy" in forked.loaded_plugins()
    assert not [name for name in forked.loaded_plugins() if not name.startswith("medldr.")]


@pytest.mark.slow
def test_a_forked_run_has_the_numbers_of_one_by_itself_to_the_last_bit(
    tmp_path, until, monkeypatch
):
    # Two threads that wait by spinning would take the core from each other.
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    server = ForkServer()
    words = "train phantom_fracture_erm data.patients=16 data.size=8 model.width=0.125"
    words += " training.epochs=2 training.batch_size=16 machine.device=cpu machine.threads=2"
    words += " machine.report=false"
    runs = []
    for name, fork in (("forked", server), ("again", server), ("plain", None)):
        out = ("--out", str(tmp_path / name))
        command = (sys.executable, "-m", forked.PROGRAM, *words.split(), *out)
        log = tmp_path / f"{name}.log"
        handle = LocalProcess(Job(name, command, log), Shares([]), fork)
        until(lambda handle=handle: handle.poll() is not None, 300)
        assert handle.poll() == 0, log.read_text()
        (run,) = (tmp_path / name).iterdir()
        runs.append(run)
        if name == "forked":  # a second thread of our own would make every later fork unsafe
            tasks = Path(f"/proc/{server._process.pid}/task").iterdir()
            names = [(task / "comm").read_text().strip() for task in tasks]
            assert len([name for name in names if name != "jemalloc_bg_thd"]) == 1, names
    assert server.news() == []
    server.close()
    for file in ("evaluation.json", "predictions.csv", "model.safetensors"):
        forked_one, again, plain = ((run / file).read_bytes() for run in runs)
        assert forked_one == again == plain, file
    records = [json.loads((run / "run.json").read_text()) for run in runs]
    for record in records:
        assert record["provenance"]["command"][:-1] == ["cli.py", *words.split(), "--out"]
        del record["times"], record["provenance"]["command"]
        del (
            record["checksums"]["metrics.jsonl"],
            record["checksums"]["run.json"],
        )  # they have times
    assert records[0] == records[1] == records[2]
    logs = [(tmp_path / f"{name}.log").read_text() for name in ("forked", "plain")]
    assert _untimed(logs[0].replace("/forked/", "/plain/")) == _untimed(logs[1])


def _untimed(log):
    return re.sub(r"\d:\d\d:\d\d left", "", re.sub(r"\s+", " ", log))
