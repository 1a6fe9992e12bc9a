"""Every file is read once, and again only where its content is not known."""

import json
import os
import time
from pathlib import Path

import pytest

from medldr.data.files import memory
from medldr.data.files.memory import (
    Examined,
    Memory,
    cache_folder,
    content_of,
    prove,
    state_of,
)
from medldr.folders.files import seal, unsealed

OLD = (1_000_000_000, 1_000_000_000)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Forty files that count as unchanged for long; every seventh is bad."""
    monkeypatch.setattr(memory, "_SETTLED_NS", 0)
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number:02d} ü.txt").write_text("bad" if number % 7 == 0 else f"good {number}")
        os.utime(folder / f"{number:02d} ü.txt", OLD)
    return sorted(folder.iterdir())


@pytest.fixture
def ask(files):
    """Prove the files and return the results, and the names of those that were read for it."""

    def run(paths=None, rules="1", **keys):
        read = []

        def examine(row):
            read.append(chosen[row].name)
            text = chosen[row].read_text()
            reason = "it is bad" if text == "bad" else ""
            return Examined(reason, f"{len(text):032x}", text.endswith("3"), {"letters": len(text)})

        chosen = files if paths is None else paths
        found = prove(
            chosen.__getitem__, [path.name for path in chosen], rules, examine, "reading", **keys,
            folder=files[0].parent,
        )  # fmt: skip
        return found, sorted(read)

    return run


def the_memory():
    (path,) = (Path(os.environ["MEDLDR_CACHE"]) / "looks").glob("*.json")
    return path


def test_each_file_is_read_once_and_remembered_with_all_that_was_found(ask, files):
    found, read = ask()
    assert read == [path.name for path in files]
    assert [one.reason for one in found[:8]] == ["it is bad", *[""] * 6, "it is bad"]
    assert found[13] == Examined("", f"{7:032x}", True, {"letters": 7})
    again, read = ask()
    assert again == found
    assert read == []


def test_a_touched_file_is_not_decoded_again_and_a_changed_one_alone_is(ask, files):
    found, _ = ask()
    os.utime(files[3])
    assert ask() == (found, [])
    files[5].write_text("gold 5")  # as many bytes as before
    again, read = ask()
    assert read == [files[5].name]
    assert [n for n in range(40) if again[n] != found[n]] == []
    files[6].write_text("bad")
    again, read = ask()
    assert again[6].reason == "it is bad"
    assert read == []  # the content of a bad file is known


def test_a_change_of_the_same_size_and_time_is_seen_where_the_file_was_young(
    ask, files, monkeypatch
):
    monkeypatch.setattr(memory, "_SETTLED_NS", 60_000_000_000)
    monkeypatch.setattr(memory, "last_changed", lambda state: state.st_mtime_ns)
    now = time.time_ns()
    os.utime(files[4], ns=(now, now))
    ask()
    files[4].write_text("gold 4")
    os.utime(files[4], ns=(now, now))
    assert ask()[1] == [files[4].name]


def test_files_that_changed_places_are_read_though_bytes_and_times_are_equal(
    ask, files, monkeypatch
):
    before, _ = ask()
    with monkeypatch.context() as patch:
        patch.setattr(memory, "content_of", lambda path: pytest.fail(f"{path} read again"))
        assert ask() == (before, [])
    time.sleep(0.02)  # a tick of the clock of the file system
    for one, other in ((0, "aside"), (1, 0), ("aside", 1)):  # a bad one and a good one
        place = {"aside": files[0].with_name("aside")} | dict(enumerate(files))
        place[one].rename(place[other])
    files[2].write_text("gold 2")
    os.utime(files[2], OLD)
    after, read = ask()
    assert [one.reason for one in after[:2]] == ["", "it is bad"]
    assert read == [files[2].name]


def test_what_is_asked_otherwise_is_read_again_where_it_must_be(ask, files):
    found, _ = ask()
    assert ask(files[::-3]) == (found[::-3], [])
    assert ask() == (found, [])  # those that were not asked for stay remembered
    for keys in ({"fresh": True}, {"rules": "2"}):
        again, read = ask(**keys)
        assert (again, len(read)) == (found, 40)
        assert ask() == (found, [])
    assert ask([]) == ([], [])


@pytest.mark.parametrize("text", ["", "[]", '{"format": 3}', '{"format": 2, "rules": "1"}', None])
def test_a_damaged_memory_is_passed_over_and_written_anew(ask, text):
    found, _ = ask()
    values = json.loads(unsealed(the_memory().read_bytes()))
    values["bytes"].pop()
    damaged = (json.dumps(values) if text is None else text).encode()
    the_memory().write_bytes(damaged + seal(damaged))
    again, read = ask()
    assert (again, len(read)) == (found, 40)
    assert ask()[1] == []


@pytest.mark.parametrize("place", [20, 2000, -70, -3])
def test_a_flipped_bit_of_a_memory_is_noticed(ask, place):
    found, _ = ask()
    damaged = bytearray(the_memory().read_bytes())
    damaged[place] ^= 1
    the_memory().write_bytes(damaged)
    again, read = ask()
    assert (again, len(read)) == (found, 40)
    assert ask()[1] == []


def test_an_absent_file_has_a_reason_that_is_not_remembered(ask, files):
    ask()
    before = files[2].read_bytes()
    files[2].unlink()
    found, read = ask()
    assert (found[2].reason, read) == ("there is no such file", [])
    files[2].write_bytes(before)
    assert ask()[0][2].reason == ""


def test_what_was_read_before_an_interruption_is_remembered(files, monkeypatch):
    monkeypatch.setattr(memory, "_STEP", 1)
    names = [path.name for path in files]
    read = []

    def examine(row):
        read.append(names[row])
        if row == 30:
            raise KeyboardInterrupt
        return Examined()

    with pytest.raises(KeyboardInterrupt):
        prove(files.__getitem__, names, "1", examine, "reading", folder=files[0].parent)
    read.clear()
    monkeypatch.setattr(memory, "_STEP", 16)
    prove(
        files.__getitem__, names, "1", lambda row: read.append(names[row]) or Examined(), "reading",
        folder=files[0].parent,
    )  # fmt: skip
    assert files[30].name in read
    assert files[0].name not in read
    assert files[20].name not in read


def test_where_nothing_can_be_written_nothing_is_remembered_and_that_is_said(
    ask, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "file"))
    assert cache_folder("looks") is None
    assert len(ask()[1]) == len(ask()[1]) == 40
    assert "cannot be remembered" in capsys.readouterr().err


def test_a_full_disk_stops_nothing(ask, monkeypatch, capsys):
    def full(self, path, rules):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Memory, "write", full)
    assert len(ask()[0]) == 40
    assert "No space left" in capsys.readouterr().err


def test_without_the_variable_it_is_in_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("MEDLDR_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder("looks") == tmp_path / ".cache" / "medldr" / "cache" / "looks"


def test_files_long_gone_are_forgotten_once_they_are_many(ask, files):
    ask()
    kept = files[:10]
    kept[0].write_text("new")
    ask(kept)
    assert len(Memory.read(the_memory(), "1").entries) == 10


def test_a_folder_is_an_item_too_and_its_files_are_its_content(files, tmp_path):
    folder = files[0].parent
    asked = []

    def run():
        prove(
            lambda row: folder, ["series"], "1", lambda row: asked.append(row) or Examined(), "",
            folder=folder,
        )  # fmt: skip

    run()
    run()
    assert asked == [0]
    before = state_of(folder), content_of(folder)
    files[3].write_text("other")
    assert state_of(folder) != before[0]
    assert content_of(folder) != before[1]
    run()
    assert len(asked) == 2


def test_parts_of_one_file_are_told_apart_and_read_again_once_it_changed(files, monkeypatch):
    hashed = []
    read_all = memory.content_of
    monkeypatch.setattr(memory, "content_of", lambda path: hashed.append(path) or read_all(path))
    monkeypatch.setattr(memory, "_STEP", 4)  # one thread
    parts, read = ["x", "y", "z"], []

    def run():
        read.clear()
        names = [f"{files[1].name}#{part}" for part in parts]
        return prove(
            lambda row: files[1], names, "1",
            lambda row: read.append(parts[row]) or Examined(reason=parts[row]), "reading",
            folder=files[1].parent, parts=parts,
        )  # fmt: skip

    assert [one.reason for one in run()] == parts
    assert read == parts
    assert len(hashed) == 1
    os.utime(files[1])
    assert [one.reason for one in run()] == parts
    assert read == []
    files[1].write_text("other")
    run()
    assert read == parts


def test_a_slice_put_back_from_a_copy_changes_its_folder(tmp_path):
    for name, when in (("a", 5), ("b", 9)):
        (tmp_path / name).write_bytes(bytes(4))
        os.utime(tmp_path / name, (when, when))
    os.utime(tmp_path, (9, 9))
    before = state_of(tmp_path)
    assert state_of(tmp_path) == before
    (tmp_path / "a").write_bytes(b"1234")
    os.utime(tmp_path / "a", (3, 3))  # older than the latest, as `cp -p` leaves it
    assert state_of(tmp_path) != before
