"""A manifest identifies a run by its content, wherever it lies."""

import json
import shutil

import pytest

from medldr.config import load_config, run_hash
from medldr.data.splits.manifest import Made, make_manifest, write_manifest
from medldr.errors import InputError

MADE = Made(medldr="1", rule="folds", seed=0, val=0.2)


@pytest.fixture
def manifest(tmp_path):
    folds = {
        "0": {"train": ["a"], "val": ["b"], "test": ["c"]},
        "1": {"train": ["b"], "val": ["c"], "test": ["a"]},
    }
    path = tmp_path / "splits.json"
    write_manifest(path, make_manifest("toy", MADE, folds))
    return path


def hash_of(path, *overrides):
    return run_hash(load_config("octmnist_erm", [f"data.manifest={path}", *overrides]))


def test_the_place_of_the_file_does_not_count(manifest, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    copy = shutil.copy(manifest, tmp_path / "elsewhere" / "other.json")
    assert hash_of(copy) == hash_of(manifest)


def test_its_content_does(manifest, tmp_path):
    folds = json.loads(manifest.read_text())["folds"]
    folds["0"]["train"], folds["0"]["val"] = folds["0"]["val"], folds["0"]["train"]
    other = tmp_path / "other.json"
    write_manifest(other, make_manifest("toy", MADE, folds))
    assert hash_of(other) != hash_of(manifest)
    assert hash_of(manifest) != run_hash(load_config("octmnist_erm"))


def test_a_manifest_that_is_replaced_makes_another_run(manifest):
    before = hash_of(manifest)
    folds = {"0": {"train": ["a"], "val": ["b"], "test": ["d"]}}
    write_manifest(manifest, make_manifest("toy", MADE, folds), force=True)
    assert hash_of(manifest) != before


def test_folds_are_different_runs_and_a_number_is_a_name(manifest):
    assert hash_of(manifest, "data.fold=0") != hash_of(manifest, "data.fold=1")
    assert hash_of(manifest, "data.fold=0") == hash_of(manifest, "data.fold='0'")


@pytest.mark.parametrize(("text", "said"), [(None, "is missing"), ("[1]", "no manifest")])
def test_without_a_manifest_there_is_no_identity(tmp_path, text, said):
    path = tmp_path / "absent.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=said):
        hash_of(path)
