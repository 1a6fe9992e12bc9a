"""`medldr data split`: what is printed and written, and what is refused."""

import json

import pytest

PHANTOM = ("data", "split", "phantom_fracture", "data.patients=24", "data.size=8")


def test_a_data_set_with_splits_keeps_them_unless_told(medldr, tmp_path):
    ended = medldr(*PHANTOM, "--out", tmp_path / "s.json")
    assert ended.code == 2
    assert "--replace-splits" in ended.err
    assert not (tmp_path / "s.json").exists()


def test_folds_are_printed_and_written(medldr, tmp_path):
    out = tmp_path / "s.json"
    words = (*PHANTOM, "--folds", "3", "--replace-splits", "--out", out)
    ended = medldr(*words)
    assert ended.code == 0, ended.err
    content = json.loads(out.read_text())
    assert list(content["folds"]) == ["0", "1", "2"]
    lines = [line.split() for line in ended.out.splitlines()]
    for split in ("train", "val", "test"):
        rows = [line for line in lines if line[:1] == [split]]
        images = [str(len(content["folds"][fold][split])) for fold in "012"]
        assert [row[1] for row in rows] == images
    assert ["domain", "train", "val", "test"] in lines
    assert "data.manifest=" in ended.out
    again = medldr(*words)
    assert "holds just these splits already" in again.out
    other = medldr(*words, "--seed", "1")
    assert other.code == 2
    assert "--force" in other.err


def test_a_fold_per_domain_is_named_after_it(medldr, tmp_path):
    out = tmp_path / "s.json"
    ended = medldr(*PHANTOM, "--leave-one-domain-out", "--replace-splits", "--out", out)
    assert ended.code == 0, ended.err
    assert list(json.loads(out.read_text())["folds"]) == [f"scanner_{x}" for x in "abcd"]


def test_a_rare_class_is_named(medldr, tmp_path, write_domain_tree):
    root = write_domain_tree(
        tmp_path / "tree", {"site": {"common": 12, "usual": 12, "rare": 1}, "other": {"common": 6}}
    )
    out = tmp_path / "s.json"
    ended = medldr("data", "split", "domain_folders", root, "data.size=8", "--out", out)
    assert ended.code == 0, ended.err
    assert "class 'rare' has no item in val of fold 0, test of fold 0" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--folds", "3", "--test", "0.2"], "--test: with --folds 3"),
        (["--val", "0"], "--val is 0"),
        (["--folds", "3", "--leave-one-domain-out"], "two ways"),
        (["--val", "0.6", "--test", "0.5"], "leave nothing to train on"),
    ],
)
def test_what_cannot_be_made_is_refused(medldr, tmp_path, words, said):
    ended = medldr(*PHANTOM, "--replace-splits", "--out", tmp_path / "s.json", *words)
    assert ended.code == 2
    assert said in ended.err
