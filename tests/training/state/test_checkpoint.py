"""Checkpoints: plain content, the newest readable one, refusals, a full disk."""

import contextlib
import os
import resource

import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import load_checkpoint, save_checkpoint
from medldr.folders.lifecycle import Interrupted
from medldr.training.state import checkpoint

SGD = {"training.momentum": 0.9}


@contextlib.contextmanager
def disk_full(size):
    """No file may grow beyond this size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_only_tensors_and_plain_values_are_stored(train):
    folder = train({**SGD, "training.averaging": {"decay": 0.9}}).folder
    saved = torch.load(folder.last, weights_only=True)

    def kinds(value):
        if isinstance(value, dict):
            return set().union(*(kinds(v) for pair in value.items() for v in pair), set())
        if isinstance(value, list | tuple):
            return set().union(*map(kinds, value), set())
        return {type(value)}

    assert kinds(saved) <= {torch.Tensor, int, float, str, bool, type(None)}
    assert {"model", "algorithm", "history", "selector", "average", "optimizer/main"} <= set(
        saved["shared"]
    )


def test_best_is_the_state_of_the_best_evaluation(train):
    run = train({**SGD, "training.select": ("val_loss",), "training.epochs": 4})
    best = load_checkpoint(run.folder.best)
    assert best["position"]["step"] == run.fitted.reported.step
    assert len(best["shared"]["history"]["rows"]) == run.fitted.reported.epoch


def cut(path):
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def one_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("damage", [cut, one_bit, pipe])
def test_the_newest_readable_one_is_used_with_a_note(damage, train, stop_after, rows_of):
    whole = train(SGD, "whole")
    with stop_after(12), pytest.raises(Interrupted):
        train(SGD, "broken")
    folder = whole.folder.path.parent / "broken"
    last = folder / "checkpoints" / "last.ckpt"
    damage(last)
    resumed = train(SGD, "broken")
    assert any("last.ckpt" in note for note in resumed.fitted.notes)
    assert any("resuming from" in note and "before.ckpt" in note for note in resumed.fitted.notes)
    assert rows_of(resumed.folder) == rows_of(whole.folder)
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


def test_the_one_before_outlives_a_kill_before_the_next_is_written(train, stop_after, monkeypatch):
    whole = train(SGD, "whole")
    with stop_after(12), pytest.raises(Interrupted):
        train(SGD, "broken")
    checkpoints = whole.folder.path.parent / "broken" / "checkpoints"
    cut(checkpoints / "last.ckpt")
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_checkpoint", lambda *_: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception, match="killed"):
            train(SGD, "broken")
    assert load_checkpoint(checkpoints / "before.ckpt")
    resumed = train(SGD, "broken")
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


def test_no_flipped_bit_is_read(tmp_path):
    path = tmp_path / "a.ckpt"
    save_checkpoint(path, {"weights": torch.arange(8.0), "position": {"step": 3}})
    data = path.read_bytes()
    tag = data.rindex(b"medldr crc32")
    for place in range(tag - 1):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(InputError, match=r"a\.ckpt is not a whole checkpoint.* checksum"):
            load_checkpoint(path)


def test_another_version_is_refused_by_name(train):
    run = train(SGD)
    saved = load_checkpoint(run.folder.last)
    for path in (run.folder.last, run.folder.best):
        torch.save(saved | {"version": 99}, path)
    with pytest.raises(InputError, match="is not of version 1, which this medldr reads"):
        train(SGD)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"training.precision": "bfloat16"},
            "the resolved precision was float32 and is now bfloat16",
        ),
        (
            {"machine.threads": 2},
            r"the number of CPU threads was 1 and is now 2 \(set machine.threads",
        ),
        pytest.param(
            {"machine.compile": True},
            "machine.compile was False and is now True",
            marks=pytest.mark.slow,
        ),
        ({"data.train": 22}, "the training data has changed: .*items, labels"),
        ({"seed": 4}, "the seed was 0 and is now 4"),
        ({"training.lr": 0.01}, "the configuration was"),
    ],
)
def test_resuming_under_other_conditions_is_refused(train, stop_after, changes, message):
    with stop_after(7), pytest.raises(Interrupted):
        train(SGD)
    try:
        with pytest.raises(InputError, match=r"cannot resume .*run: ") as caught:
            train({**SGD, **changes})
    finally:
        torch.set_num_threads(1)
    caught.match(message)


def test_a_signal_on_a_full_disk_still_stops_the_run_as_asked(train, stop_after):
    changes = {**SGD, "algorithm": {"name": "latentdr"}}
    with disk_full(2000), stop_after(2), pytest.raises(Interrupted) as caught:
        train(changes)
    assert not caught.value.resumable


def test_a_twin_is_a_copy_where_files_cannot_share_their_content(tmp_path, monkeypatch):
    source = tmp_path / "source"
    source.write_bytes(b"content")
    checkpoint.twin(source, tmp_path / "linked", share=True)
    assert (tmp_path / "linked").samefile(source)

    def refuse(*paths):
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    checkpoint.twin(source, tmp_path / "copied", share=True)
    assert (tmp_path / "copied").read_bytes() == b"content"
    assert not (tmp_path / "copied").samefile(source)
