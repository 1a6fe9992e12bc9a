"""A run folder has one owner, and nobody's leftovers block the next."""

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

from medldr.folders import owner
from medldr.folders.files import RunFolder

HOLD = (
    "import sys, time\nfrom medldr.folders.files import RunFolder\n"
    "from medldr.folders.owner import owned\n"
    "with owned(RunFolder({!r})):\n print('in', flush=True)\n time.sleep(60)\n"
)
ELSEWHERE = {"host": "elsewhere", "place": "another boot/pid:[1]"}


def _leave(folder, silent=0.0, **changes):
    """An owner file as a process that is gone would leave it."""
    folder.path.mkdir(exist_ok=True)
    entry = {"host": socket.gethostname(), "pid": 2**22 - 1, "start": "x", "token": "theirs"}
    entry |= {"place": owner._place(), "heartbeat": time.time()}
    folder.owner.write_text(json.dumps(entry | changes))
    _age(folder.owner, silent)


def _age(path, seconds):
    os.utime(path, (time.time() - seconds,) * 2)


@pytest.fixture(autouse=True)
def short_watch(monkeypatch):
    monkeypatch.setattr(owner, "WATCH_S", 0.3)


def test_a_second_process_is_refused_while_the_first_lives(tmp_path):
    folder = RunFolder(tmp_path / "run")
    with owner.owned(folder):
        assert owner.is_owned(folder)
        with pytest.raises(owner.OwnedError, match=str(os.getpid())), owner.owned(folder):
            pass
    assert not owner.is_owned(folder)
    with owner.owned(folder):
        assert owner.is_owned(folder)


def test_the_last_owner_stays_on_record(tmp_path):
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        pass
    entry = json.loads(folder.owner.read_text())
    assert entry["pid"] == os.getpid()
    assert entry["released"] >= entry["heartbeat"] - 1


def test_a_dead_owner_on_this_host_is_taken_over(tmp_path):
    folder = RunFolder(tmp_path)
    _leave(folder)
    with owner.owned(folder):
        assert json.loads(folder.owner.read_text())["pid"] == os.getpid()


def test_a_later_process_with_the_same_number_is_no_owner(tmp_path):
    folder = RunFolder(tmp_path)
    _leave(folder, pid=os.getpid(), start="another boot/1")
    assert not owner.is_owned(folder)


@pytest.mark.parametrize("clock", [-400.0, 0.0, 400.0, 3e7])
def test_an_owner_elsewhere_is_believed_until_its_file_stays_as_it_is(tmp_path, clock):
    """Its clock, and what it calls itself, play no part."""
    folder = RunFolder(tmp_path)
    there = {**ELSEWHERE, "host": socket.gethostname(), "pid": os.getpid()}
    _leave(folder, silent=owner.STALE_AFTER_S - 5, heartbeat=time.time() + clock, **there)
    with pytest.raises(owner.OwnedError, match="in use by process"), owner.owned(folder):
        pass
    _age(folder.owner, owner.STALE_AFTER_S + 5)
    with owner.owned(folder):
        assert json.loads(folder.owner.read_text())["token"] != "theirs"


@pytest.mark.parametrize("silent", [400.0, -4e7])
def test_a_sign_of_life_while_watching_is_believed_whatever_the_dates_of_files(
    tmp_path, silent, capsys
):
    folder = RunFolder(tmp_path)
    _leave(folder, silent, **ELSEWHERE)

    def beats():
        _leave(folder, silent, **ELSEWHERE, heartbeat=5.0)

    timer = threading.Timer(0.1, beats)
    timer.start()
    with pytest.raises(owner.OwnedError, match="elsewhere"), owner.owned(folder):
        pass
    timer.join()
    assert "watching" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["{", "{}", "7", "\xff"])
def test_an_owner_file_that_names_nobody_is_taken_over_once_it_is_old(tmp_path, content):
    folder = RunFolder(tmp_path)
    folder.owner.write_bytes(content.encode("latin-1"))
    with pytest.raises(owner.OwnedError, match="in use by another process"), owner.owned(folder):
        pass
    _age(folder.owner, owner.STALE_AFTER_S + 5)
    with owner.owned(folder):
        assert owner.is_owned(folder)


def test_an_owner_whose_file_is_damaged_writes_it_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "BEAT_EVERY_S", 0.05)
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        folder.owner.write_text("{")
        deadline = time.time() + 20
        while "token" not in folder.owner.read_text():
            assert time.time() < deadline
            time.sleep(0.02)
        owner.refuse_if_taken(folder)


def test_a_takeover_that_was_killed_before_its_record_blocks_nobody(tmp_path):
    folder = RunFolder(tmp_path)
    _leave(folder)
    half = folder.path / ".owner.theirs.next"
    half.write_text(folder.owner.read_text().replace("theirs", "half"))
    with owner.owned(folder):
        assert json.loads(folder.owner.read_text())["pid"] == os.getpid()
    assert [path.name for path in folder.path.iterdir()] == ["owner.json"]


def test_a_full_disk_in_a_takeover_leaves_the_folder_free(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path)
    _leave(folder)

    def full(*of):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(owner, "write_text", full)
        with pytest.raises(OSError, match="No space"):
            owner._claim(folder.owner)
    with owner.owned(folder):
        assert owner.is_owned(folder)


def test_without_hard_links_a_folder_is_owned_all_the_same(tmp_path, monkeypatch):
    def none(*of):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", none)
    folder = RunFolder(tmp_path)
    for _ in range(2):
        with owner.owned(folder), pytest.raises(owner.OwnedError), owner.owned(folder):
            pass


@pytest.mark.slow
def test_a_process_of_another_namespace_is_not_judged_by_its_number(tmp_path):
    """Process 1 of a container, say, is alive in every other one."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("no process namespaces here")
    code = HOLD.format(str(tmp_path))
    with subprocess.Popen(
        [*unshare, "--kill-child", sys.executable, "-c", code], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        for _ in range(20):
            with pytest.raises(owner.OwnedError), owner.owned(RunFolder(tmp_path)):
                pass
        again = subprocess.run(
            [*unshare, sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert "in use by process 1 on" in again.stderr
        process.kill()


def test_of_many_at_once_exactly_one_takes_over(tmp_path):
    folder = RunFolder(tmp_path)
    _leave(folder)
    start, done, won = threading.Barrier(8, timeout=30), threading.Barrier(8, timeout=30), []

    def attempt():
        start.wait()
        try:
            with owner.owned(folder):
                won.append(1)
                done.wait()
        except owner.OwnedError:
            done.wait()

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_a_killed_process_is_noticed(tmp_path):
    code = HOLD.format(str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert owner.is_owned(RunFolder(tmp_path))
        process.kill()
    assert not owner.is_owned(RunFolder(tmp_path))


def test_the_heartbeat_is_renewed(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "BEAT_EVERY_S", 0.05)
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        first = json.loads(folder.owner.read_text())["heartbeat"]
        deadline = time.time() + 10
        while json.loads(folder.owner.read_text())["heartbeat"] == first:
            assert time.time() < deadline
            time.sleep(0.02)


def test_a_process_that_slept_too_long_leaves_the_folder_to_its_new_owner(tmp_path):
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        owner.refuse_if_taken(folder)
        _leave(folder, **ELSEWHERE, pid=7)
        taken = folder.owner.read_text()
        with pytest.raises(owner.OwnedError, match="taken over by process 7 on elsewhere"):
            owner.refuse_if_taken(folder)
    assert folder.owner.read_text() == taken


def test_every_refusal_can_be_told_from_its_words(tmp_path, monkeypatch):
    folder = RunFolder(tmp_path / "run")
    said = []

    def refused(call):
        with pytest.raises(owner.OwnedError) as refusal:
            call()
        said.append(str(refusal.value))

    _leave(folder, **ELSEWHERE)
    refused(lambda: owner._claim(folder.owner))
    refused(lambda: owner.refuse_if_taken(folder))
    _leave(folder)
    monkeypatch.setattr(owner, "_create", lambda path, me: False)
    refused(lambda: owner._claim(folder.owner))
    assert len(said) == 3
    assert all(owner.says_owned(text) for text in said)


def test_what_a_process_killed_in_a_heartbeat_left_is_removed(tmp_path):
    folder = RunFolder(tmp_path)
    left, other = tmp_path / ".owner.json.abc.tmp", tmp_path / ".config.yaml.abc.tmp"
    left.touch()
    other.touch()
    with owner.owned(folder):
        assert not left.exists()
        assert other.exists()  # what the run itself left is for the run to remove
