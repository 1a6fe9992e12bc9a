"""What the last line of a log is, and how an ending is told in words."""

import pytest

from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps import run_logs


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
    assert run_logs.last_line(folder.log("a")) == found


def test_a_log_that_is_absent_or_no_text_is_survived(folder):
    assert run_logs.last_line(folder.log("a")) == ""
    folder.log("a").write_bytes(b"fine\n\xff\xfe odd")
    assert run_logs.last_line(folder.log("a")).endswith("odd")


@pytest.mark.parametrize(
    ("code", "words"), [(7, "exit code 7"), (-11, "SIGSEGV"), (-99, "signal 99"), (-9, "memory")]
)
def test_an_ending_without_words_says_its_code(folder, code, words):
    error = run_logs.write_ending(folder, "a", code)
    assert words in error
    assert standing_of(folder, "a").error == error
