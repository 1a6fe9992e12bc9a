"""A lock keeps others waiting; a file system without locks stops nobody."""

import errno
import fcntl
import threading

import pytest

from medldr.folders.alone import alone
from medldr.folders.files import StorageError


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
    assert list(tmp_path.iterdir()) == []


def test_of_many_one_works_at_a_time_and_no_lock_is_left(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(50):
            with alone(tmp_path / "pack", "packing"):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    others = [threading.Thread(target=work) for _ in range(8)]
    for one in others:
        one.start()
    for one in others:
        one.join(60)
    assert len(most) == 400
    assert max(most) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_its_holder_took_away_while_somebody_waited_is_no_lock(tmp_path):
    started, first, second = threading.Event(), alone(tmp_path / "pack", "a"), []

    def waiter():
        started.set()
        with alone(tmp_path / "pack", "b"):
            second.append((tmp_path / ".pack.lock").exists())

    with first:
        other = threading.Thread(target=waiter)
        other.start()
        started.wait(10)
    other.join(10)
    assert second == [True]


def test_a_place_that_cannot_be_written_is_an_error_only_where_the_lock_is_needed(tmp_path):
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "pack"
    with pytest.raises(StorageError, match=r"directory|exists"), alone(place, "packing"):
        raise AssertionError("it ran")
    with alone(place, "packing", needed=False):
        pass
