"""A user's mistake: one clear message before epoch 1, exit code 2, no traceback."""

import numpy as np
import pytest

CASES = {
    "wrong checksum": (["data.md5=official"], ["retinamnist.npz", "expected", "found"]),
    "unknown key": (["training.learning_rate=0.1"], ["training.learning_rate", "training.lr"]),
    "ill-typed value": (["training.lr=abc"], ["training.lr", "abc", "number"]),
    "unknown algorithm": (["algorithm.name=latentrd"], ["latentdr"]),
    "loss that does not fit": (
        ["algorithm.loss=binary_cross_entropy"],
        ["binary_cross_entropy", "ordinal", "cross_entropy"],
    ),
    "held out without domains": (["data.held_out=[scanner_a]"], ["held_out", "domain"]),
    "unknown rule": (["training.select=[val_acc]"], ["val_acc", "val_accuracy"]),
    "oracle without leave": (["training.select=[oracle_auc]"], ["evaluation.oracle"]),
    "nothing to recalibrate on": (
        ["evaluation.recalibrate=temperature", "evaluation.splits=[test]"],
        ["evaluation.recalibrate", "Add val to evaluation.splits"],
    ),
    "unknown id": (["data.exclude=[train/9999]"], ["train/9999"]),
    "unknown transform": (["transform.train=[RandFlop]"], ["RandFlop", "RandFlip"]),
    "code in a transform": (["transform.train=[{Lambda: {func: print}}]"], ["Lambda"]),
    "random evaluation": (["transform.eval=[{RandFlip: {prob: 0.5}}]"], ["RandFlip", "eval"]),
    "accumulated sets": (["training.accumulate=2"], ["accumulate", "accumulate_sets"]),
    "no such device": (["machine.device=cuda"], ["machine.device", "cuda"]),
    "batch of one": (["training.batch_size=1"], ["batch_size"]),
    "wrong size": (["data.size=100"], ["size", "28", "64", "128", "224"]),
    "download forbidden": (["data.root=/nowhere/at/all"], ["retinamnist.npz", "download"]),
    "no metadata": (["data.metadata=/nowhere/t.csv"], ["data.metadata", "/nowhere/t.csv"]),
    "no card": (["data.card=/nowhere/c.yaml"], ["data.card", "/nowhere/c.yaml"]),
    "subgroups of nothing": (["evaluation.subgroups=[sex]"], ["subgroups", "data.metadata"]),
    "edges in no order": (["evaluation.bands={age: [60, 40]}"], ["bands", "ascending"]),
    "unknown conversion": (["model.conv=nonsense"], ["model.conv", "acs"]),
    "degraded without degradation": (
        ["algorithm.degrade=none"],
        ["degraded", "degrade"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_message_names_key_and_cure(name, small, tmp_path, medldr):
    changes, said = CASES[name]
    if name == "no such device":
        import torch

        if torch.cuda.is_available():
            pytest.skip("this machine has the device")
    base = [c for c in small if c.split("=")[0] not in {x.split("=")[0] for x in changes}]
    ended = medldr("train", "retinamnist_latentdr_pool", *base, *changes, "--out", tmp_path)
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    for word in said:
        assert word in ended.err
    assert not list(tmp_path.glob("*/metrics.jsonl")) or not any(
        p.read_text() for p in tmp_path.glob("*/metrics.jsonl")
    )


def _write(original, root, **changes):
    with np.load(original / "retinamnist.npz") as file:
        arrays = dict(file)
    arrays |= {key: change(arrays[key]) for key, change in changes.items()}
    np.savez(root / "retinamnist.npz", **arrays)


FILES = {
    "label outside the range": ({"train_labels": lambda a: a + 5}, ["train_labels", "retinamnist"]),
    "float image": ({"train_images": lambda a: a / 255}, ["train_images", "uint8"]),
    "wrong rank": ({"train_images": lambda a: a[..., 0, 0]}, ["train_images"]),
    "class missing from training": (
        {"train_labels": lambda a: np.where(a == 4, 0, a).astype(np.uint8)},
        ["allow_missing_classes", "4"],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_file_is_named(name, small, data_root, tmp_path, medldr):
    changes, said = FILES[name]
    _write(data_root, tmp_path, **changes)
    base = [c for c in small if not c.startswith("data.root")]
    out = tmp_path / "out"
    ended = medldr("train", "retinamnist_erm", *base, f"data.root={tmp_path}", "--out", out)
    assert ended.code == 2, ended.err
    for word in said:
        assert word in ended.err


def test_an_all_constant_split_is_told(data_root, tmp_path, medldr):
    _write(data_root, tmp_path, test_images=lambda a: np.zeros_like(a))
    ended = medldr("data", "check", "retinamnist", f"data.root={tmp_path}", "data.md5=any")
    assert ended.code == 0
    assert "constant" in ended.out
