"""`owner.json` names a process, or nobody."""

import json

import pytest

from medldr.folders import owner
from medldr.folders.files import RunFolder
from medldr.folders.owner import OwnerRecord

KEYS = ["host", "pid", "start", "heartbeat"]


def test_the_file_has_the_keys_that_it_always_had(tmp_path):
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        assert list(json.loads(folder.owner.read_text())) == KEYS
    assert list(json.loads(folder.owner.read_text())) == [*KEYS, "released"]


def test_a_system_without_start_times_says_so_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(owner, "_process_start", lambda pid: None)
    folder = RunFolder(tmp_path)
    with owner.owned(folder):
        assert json.loads(folder.owner.read_text())["start"] is None
        assert owner.is_owned(folder)


def test_unknown_keys_are_kept():
    content = {"host": "a", "pid": 7, "start": None, "heartbeat": 1.5, "queue": "gpu"}
    assert OwnerRecord.model_validate(content).written() == content


@pytest.mark.parametrize(
    "change",
    [{"pid": "many"}, {"host": None}, {"heartbeat": "now"}, {"start": 3}, {"released": "x"}],
)
def test_a_key_of_the_wrong_type_names_nobody(tmp_path, change):
    folder = RunFolder(tmp_path)
    content = {"host": "elsewhere", "pid": 7, "start": "x", "heartbeat": 2.0**40}
    folder.owner.write_text(json.dumps(content))
    assert owner.is_owned(folder)
    folder.owner.write_text(json.dumps(content | change))
    assert not owner.is_owned(folder)


@pytest.mark.parametrize("key", KEYS)
def test_a_file_without_one_of_its_keys_names_nobody(tmp_path, key):
    folder = RunFolder(tmp_path)
    content = {"host": "elsewhere", "pid": 7, "start": "x", "heartbeat": 2.0**40}
    del content[key]
    folder.owner.write_text(json.dumps(content))
    assert not owner.is_owned(folder)
