"""`owner.json` names a process, or nobody."""

import json

import pytest
from pydantic import ValidationError

from medldr.folders import owner
from medldr.folders.files import RunFolder
from medldr.folders.owner import OwnerRecord

KEYS = ["host", "pid", "start", "heartbeat", "place", "token"]


def test_the_file_has_its_keys(tmp_path):
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


CONTENT = {"host": "a", "pid": 7, "start": None, "heartbeat": 1.5, "place": "b", "token": "c"}


def test_unknown_keys_are_kept():
    content = CONTENT | {"queue": "gpu"}
    assert OwnerRecord.model_validate(content).written() == content


@pytest.mark.parametrize(
    "change",
    [{"pid": "many"}, {"host": None}, {"heartbeat": "now"}, {"start": 3}, {"released": "x"}],
)
def test_a_key_of_the_wrong_type_names_nobody(change):
    with pytest.raises(ValidationError):
        OwnerRecord.model_validate(CONTENT | change)


@pytest.mark.parametrize("key", KEYS)
def test_a_file_without_one_of_its_keys_names_nobody(key):
    with pytest.raises(ValidationError):
        OwnerRecord.model_validate({k: v for k, v in CONTENT.items() if k != key})
