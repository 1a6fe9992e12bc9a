"""A folder is there whole or not at all."""

import os
import time

import pytest

from medldr.errors import InputError
from medldr.folders.whole_folder import whole_folder


def test_a_folder_appears_whole_and_takes_an_earlier_ones_place(tmp_path):
    to = tmp_path / "made"
    to.mkdir()
    (to / "old").write_text("1")
    with whole_folder(to) as folder:
        (folder / "new").write_text("2")
        assert (to / "old").exists()
    assert [path.name for path in to.iterdir()] == ["new"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_what_fails_leaves_the_earlier_one(tmp_path):
    to = tmp_path / "made"
    to.mkdir()
    (to / "old").write_text("1")
    with pytest.raises(FileNotFoundError), whole_folder(to) as folder:
        (folder / "absent").unlink()
    assert [path.name for path in to.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_place_that_cannot_be_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"), whole_folder(tmp_path / "file" / "made"):
        pass


def test_what_killed_processes_left_goes_after_a_day(tmp_path):
    for name, age in ((".made.abc.tmp", 90_000), (".made.def.tmp", 60), (".other.abc.tmp", 90_000)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, times=(time.time() - age,) * 2)
    with whole_folder(tmp_path / "made"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".made.def.tmp", ".other.abc.tmp", "made",
    ]  # fmt: skip
