"""A run folder has one owner, and nobody's leftovers block the next."""

import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from medldr.folders import owner
from medldr.folders.files import RunFolder


def _leave(folder, **changes):
    """An owner file as a process that is gone would leave it."""
    folder.path.mkdir(exist_ok=True)
    entry = {"host": socket.gethostname(), "pid": 2**22 - 1, "start": "x", "heartbeat": time.time()}
    folder.owner.write_text(json.dumps(entry | changes))


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


def test_another_host_is_believed_until_its_heartbeat_is_old(tmp_path):
    folder = RunFolder(tmp_path)
    _leave(folder, host="elsewhere")
    with pytest.raises(owner.OwnedError, match="elsewhere"), owner.owned(folder):
        pass
    _leave(folder, host="elsewhere", heartbeat=time.time() - owner.STALE_AFTER_S - 1)
    with owner.owned(folder):
        pass


@pytest.mark.parametrize("content", ["{", "{}", "7"])
def test_an_owner_file_that_names_nobody_is_taken_over(tmp_path, content):
    folder = RunFolder(tmp_path)
    folder.owner.write_text(content)
    with owner.owned(folder):
        assert owner.is_owned(folder)


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
    code = (
        "import sys, time\nfrom medldr.folders.files import RunFolder\n"
        "from medldr.folders.owner import owned\n"
        f"with owned(RunFolder({str(tmp_path)!r})):\n print('in', flush=True)\n time.sleep(60)\n"
    )
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
        _leave(folder, host="elsewhere", pid=7)
        taken = folder.owner.read_text()
        with pytest.raises(owner.OwnedError, match="taken over by process 7 on elsewhere"):
            owner.refuse_if_taken(folder)
    assert folder.owner.read_text() == taken


def test_every_refusal_can_be_told_from_its_words(tmp_path):
    folder = RunFolder(tmp_path / "run")
    said = []

    def refused(call):
        with pytest.raises(owner.OwnedError) as refusal:
            call()
        said.append(str(refusal.value))

    _leave(folder, host="elsewhere")
    refused(lambda: owner._claim(folder.owner))
    refused(lambda: owner.refuse_if_taken(folder))
    _leave(folder)
    folder.owner.with_suffix(".takeover").touch()
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
