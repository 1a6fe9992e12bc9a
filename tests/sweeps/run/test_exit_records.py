"""What a log's last line is, and which record of an ending still holds."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.exit_record import ExitRecord, read_exit_record
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.run import exit_records as endings


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.logs.mkdir()
    return folder


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("=== now train x\none\ntwo\n\n  \n", "two"),
        ("=== now\nerror: data.root: no such folder\nsome library: cleaning up\n",
         "data.root: no such folder"),
        ("=== now\nerror: old\n=== now\nnew\n", "new"),
        ("=== now\nold\n=== now\n", ""),
        ("=== now\n" + "x" * 1000, "x" * 400 + " ..."),
        ("=== now\nerror: 1 problem in the file:\n  data.root: a number\nbye\n",
         "1 problem in the file: data.root: a number"),
        ("=== now\nTraceback (most recent call last):\n  File\nValueError: boo\n",
         "ValueError: boo"),
    ],
)  # fmt: skip
def test_the_last_line_that_says_something(folder, text, found):
    folder.log("a").write_text(text)
    assert endings.last_line(folder.log("a")) == found


def test_a_log_that_is_absent_or_no_text_is_survived(folder):
    assert endings.last_line(folder.log("a")) == ""
    folder.log("a").write_bytes(b"fine\n\xff\xfe odd")
    assert endings.last_line(folder.log("a")).endswith("odd")


def test_only_the_end_of_a_long_log_is_read(folder):
    folder.log("a").write_text("error: at the start\n" + "line\n" * 20_000 + "last\n")
    assert endings.last_line(folder.log("a")) == "last"


def test_a_record_holds_until_the_run_is_started_once_more(folder):
    run = folder.run("a")
    run.path.mkdir()
    run.run.write_text(json.dumps({"status": "running", "times": {"starts": 2}}))
    folder.log("a").write_text("=== now\nepoch 1\n")
    said = endings.write_ending(folder, "a", -9)
    assert read_exit_record(folder, "a") == ExitRecord(code=-9, error=said, starts=2)
    run.run.write_text(json.dumps({"status": "interrupted", "times": {"starts": 3}}))
    assert read_exit_record(folder, "a") is None


def test_there_is_no_record_where_none_was_written(folder):
    assert read_exit_record(folder, "a") is None


@pytest.mark.parametrize("text", ["{half", "[]", "{}", '{"code": "x", "error": ""}'])
def test_a_damaged_record_is_named(folder, text):
    folder.ending("a").write_text(text)
    with pytest.raises(InputError, match=r"logs.a\.json"):
        read_exit_record(folder, "a")


def test_an_ending_without_words_says_its_code(folder):
    assert "exit code 7" in endings.write_ending(folder, "a", 7)
    assert "SIGSEGV" in endings.describe(-11, "")
    assert "signal 99" in endings.describe(-99, "")
