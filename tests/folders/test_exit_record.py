"""How a member's process ended: one reader, one complaint."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.exit_record import ExitRecord, read_exit_record, write_exit_record
from medldr.folders.sweep_record import SweepFolder


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.logs.mkdir()
    return folder


def test_a_record_is_read_back_as_it_was_written(folder):
    record = ExitRecord(code=-9, error="killed", starts=0)
    write_exit_record(folder, "a", record)
    assert json.loads(folder.ending("a").read_text()) == {
        "code": -9,
        "error": "killed",
        "starts": 0,
    }
    assert read_exit_record(folder, "a") == record


def test_an_older_one_and_unknown_keys_are_read(folder):
    folder.ending("a").write_text('{"code": 2, "error": "no", "node": "n1"}')
    record = read_exit_record(folder, "a")
    assert record is not None
    assert (record.starts, record.model_extra) == (0, {"node": "n1"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{half", "is not readable JSON"),
        ("[]", "should contain a mapping"),
        ("{}", "code is missing"),
        ('{"code": "x", "error": ""}', "code should be a valid integer"),
    ],
)
def test_a_damaged_one_is_refused_with_file_key_and_cure(folder, text, said):
    folder.ending("a").write_text(text)
    with pytest.raises(InputError, match=rf"logs.a\.json.*{said}.*Remove it"):
        read_exit_record(folder, "a")
