"""`run.json` is read whole or refused with file, key and cure."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders import run_record
from medldr.folders.files import RunFolder
from medldr.folders.run_record import (
    RunRecord,
    add_to_run_record,
    read_run_record,
    starts,
)


@pytest.fixture
def files(tmp_path):
    return RunFolder(tmp_path)


def test_a_run_that_has_just_begun_has_the_defaults_of_what_it_lacks(files):
    files.run.write_text('{"status": "done"}')
    record = read_run_record(files)
    assert record.model_dump() == RunRecord(status="done").model_dump()
    assert (record.times.starts, record.data.notes, record.selections) == (0, (), {})
    assert record.spec is record.selection is record.precision is None


def test_what_is_not_known_is_kept(files):
    content = {"status": "done", "lr": 0.1, "times": {"starts": 2, "zone": "UTC"}, "seed": 3}
    files.run.write_text(json.dumps(content))
    record = read_run_record(files)
    assert record.content == content
    assert list(record.content) == list(content)
    assert record.written() == content
    assert record.times.starts == starts(files) == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        ('{"status": "do', "is not readable JSON"),
        ("[]", "should contain a mapping, not a value of type list"),
        ("{}", "status is missing"),
        ('{"status": "finished"}', "status should be 'running', 'interrupted', 'done' or 'failed'"),
        ('{"status": "done", "seed": "x"}', "seed should be a valid integer"),
        ('{"status": "done", "times": {"started": "noon"}}', r"times\.started should be a time"),
        ('{"status": "done", "spec": {"task": "guess"}}', r"spec\.task should be 'multi-class'"),
    ],
)
def test_a_damaged_file_is_refused_with_file_key_and_cure(files, content, said):
    if content is not None:
        files.run.write_text(content)
    with pytest.raises(InputError, match=rf"run\.json.*{said}|{said}.*run\.json") as error:
        read_run_record(files)
    assert str(error.value).endswith(run_record.CURE)
    assert "\n" not in str(error.value)


def test_facts_are_merged_one_level_deep(files):
    add_to_run_record(files, status="running", times={"starts": 1, "seconds": 2.0})
    add_to_run_record(files, status="done", times={"seconds": 5.0}, selections={"a": {"rule": "a"}})
    assert json.loads(files.run.read_text()) == {
        "status": "done",
        "times": {"starts": 1, "seconds": 5.0},
        "selections": {"a": {"rule": "a"}},
    }


def test_what_could_not_be_read_again_is_not_written(files):
    fact = {"times": 3}
    add_to_run_record(files, status="running")
    before = files.run.read_bytes()
    with pytest.raises(InputError, match=next(iter(fact))):
        add_to_run_record(files, **fact)
    assert files.run.read_bytes() == before


def test_a_damaged_file_is_not_added_to(files):
    files.run.write_text("[]")
    with pytest.raises(InputError, match=r"run\.json.*--restart"):
        add_to_run_record(files, status="done")
    assert files.run.read_text() == "[]"
