"""A lock keeps others waiting; a file system without locks stops nobody."""

import errno
import fcntl

import pytest

from medldr.folders.alone import alone


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_where_there_are_no_locks_the_work_is_done_all_the_same(number, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(number, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    done = []
    for _ in range(2):  # nothing is left that would keep the second one out
        with alone(tmp_path / "pack", "packing"):
            done.append(1)
    assert done == [1, 1]


def test_a_place_that_cannot_be_written_is_an_error_only_where_the_lock_is_needed(tmp_path):
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "pack"
    with pytest.raises(OSError, match=r"directory|exists"), alone(place, "packing"):
        raise AssertionError("it ran")
    with alone(place, "packing", needed=False):
        pass
