"""Files are written whole or not at all and read without executing anything."""

import errno
import os
import pickle
import time

import pytest
import torch

from medldr.errors import InputError
from medldr.folders import files
from medldr.folders.files import whole_folder


def test_a_failed_write_leaves_the_old_file_and_no_temporary(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")

    def break_off():
        with files.atomic(path) as temporary:
            temporary.write_text("ne")
            raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        break_off()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_is_named_with_path_and_bytes(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "x.json"
    with pytest.raises(files.StorageError, match=r"no space left .*x\.json \(\d+ bytes needed\)"):
        files.write_json(path, {"a": 1})
    assert not path.exists()


def test_appending_to_a_full_disk_leaves_whole_lines(tmp_path, monkeypatch):
    path = tmp_path / "metrics.jsonl"
    files.append_line(path, '{"epoch": 1}')

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(files.StorageError, match="no space"):
        files.append_line(path, '{"epoch": 2}')
    assert path.read_text() == '{"epoch": 1}\n'


class _Evil:
    def __reduce__(self):
        return (os.system, ("true",))


def test_a_foreign_pickle_is_refused_and_not_run(tmp_path):
    path = tmp_path / "evil.ckpt"
    torch.save({"x": _Evil()}, path)
    with pytest.raises(InputError, match="refused"):
        files.load_checkpoint(path)
    path.write_bytes(pickle.dumps(_Evil()))
    with pytest.raises(InputError, match=r"refused|damaged"):
        files.load_checkpoint(path)


@pytest.mark.parametrize(
    ("read", "name", "words"),
    [
        (files.read_json, "absent.json", "there is no such file"),
        (files.read_json, "halfs.json", r"such file\. Did you mean 'half\.json'\?"),
        (files.read_json, "half.json", "is not readable JSON"),
        (files.load_checkpoint, "absent.ckpt", "there is no such file"),
        (files.load_checkpoint, "half.ckpt", "is not a whole checkpoint"),
        (files.load_tensors, "absent.safetensors", "there is no such file"),
        (files.load_tensors, "half.safetensors", "only read from safetensors files"),
        (files.load_tensors, "pickled.safetensors", "only read from safetensors files"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, read, name, words):
    (tmp_path / "half.json").write_text("{")
    torch.save({"w": torch.zeros(2)}, tmp_path / "pickled.safetensors")
    files.save_checkpoint(tmp_path / "half.ckpt", {"w": torch.arange(1000)})
    files.save_tensors(tmp_path / "half.safetensors", {"w": torch.arange(1000)})
    for half in (tmp_path / "half.ckpt", tmp_path / "half.safetensors"):
        half.write_bytes(half.read_bytes()[:500])
    with pytest.raises(InputError, match=words) as error:
        read(tmp_path / name)
    assert name in str(error.value)


def test_equal_tensors_give_equal_bytes_whatever_their_order(tmp_path):
    tensors = {"b": torch.arange(3.0), "a": torch.ones(2, 2).t()}
    files.save_tensors(tmp_path / "1", tensors)
    files.save_tensors(tmp_path / "2", dict(reversed(tensors.items())))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()
    assert torch.equal(files.load_tensors(tmp_path / "1")["b"], tensors["b"])


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


def test_json_refuses_nan(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "a.json", {"auc": float("nan")})
    assert not (tmp_path / "a.json").exists()
