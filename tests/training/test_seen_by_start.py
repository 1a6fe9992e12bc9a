"""Weights that were trained on images which judge a run: refused, or marked; never by names."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from medldr.data.image_table import ImageTable
from medldr.data.seen import write_seen
from medldr.errors import InputError
from medldr.folders.checksums import checksums_of
from medldr.folders.files import RunFolder
from medldr.folders.run_record import add_to_run_record
from medldr.training.seen_by_start import seen_by_start

SPLITS = {"train": range(6), "val": range(6, 9), "test": range(9, 14)}
MOVED = {"train": range(4, 10), "val": range(4), "test": range(10, 14)}


def _data(splits, images=None, data_hash="same"):
    if images is None:
        images = np.random.default_rng(0).integers(0, 256, (14, 1, 3, 3), dtype=np.uint8)
    blank = np.full(14, "")
    table = ImageTable(
        name="toy",
        task="multi-class",
        class_names=("a", "b"),
        images=images,
        labels=np.zeros(14, np.int64),
        ids=np.array([str(row) for row in range(14)]),
        splits=blank,
        domains=blank,
        groups=blank,
    )
    rows = {split: np.array(of_split) for split, of_split in splits.items()}
    return SimpleNamespace(table=table, rows=rows, data_hash=data_hash)


@pytest.fixture
def source(tmp_path):
    """The folder of a run, with or without digests of its images."""

    def make(data, name="erm-0a1b2c3d-s0", *, digests=True, start=None, done=True):
        files = RunFolder(tmp_path / name)
        files.path.mkdir()
        facts = {"status": "done", "hash": name, "seed": 0, "data_hash": data.data_hash}
        add_to_run_record(files, **facts)
        files.config.write_text(json.dumps({"training": {"init_from": start and str(start)}}))
        files.model.touch()
        splits = {split: data.table.ids[rows].tolist() for split, rows in data.rows.items()}
        files.splits.write_text(json.dumps({"splits": splits}))
        if digests:
            write_seen(files, data.table, data.rows)
        if done:
            add_to_run_record(files, checksums=checksums_of(files))
        return files

    return make


@pytest.fixture
def check(tmp_path):
    def run(data, start=None, weights=None, *, allow=False, going_on=False):
        training = SimpleNamespace(init_from=start, allow_seen=allow)
        config = SimpleNamespace(training=training, model=SimpleNamespace(weights=weights))
        folder = RunFolder(tmp_path / "ours")
        if going_on:
            folder.checkpoints.mkdir(parents=True)
            folder.last.touch()
        return seen_by_start(config, data, folder)

    return run


@pytest.mark.parametrize("digests", [True, False])
def test_images_of_training_in_our_other_splits_are_refused_with_key_and_cure(
    source, check, digests
):
    start = source(_data(SPLITS), digests=digests).path
    with pytest.raises(InputError) as refused:
        check(_data(MOVED), start)
    said = str(refused.value)
    assert "4 of 4 val images" in said
    assert "test images" not in said  # what only judged there may judge here
    assert "erm-0a1b2c3d-s0" in said
    assert "training.init_from" in said
    assert "training.allow_seen: true" in said
    found = check(_data(MOVED), start, allow=True)
    assert len(found["marks"]) == 1
    assert "4 of 4 val images" in found["marks"][0]


@pytest.mark.parametrize("digests", [True, False])
def test_equal_splits_are_the_usual_start(source, check, digests):
    start = source(_data(SPLITS), digests=digests).path
    assert check(_data(SPLITS), start) == {"start": [], "marks": []}


def test_ids_of_other_data_mean_nothing(source, check):
    start = source(_data(SPLITS, data_hash="other"), digests=False).path
    found = check(_data(MOVED), start)
    assert found["marks"] == []
    assert "not compared with the training images of erm-0a1b2c3d-s0" in found["start"][0]


def test_content_decides_where_both_keep_it(source, check):
    ours = _data(SPLITS)
    start = source(_data(SPLITS, ours.table.images[::-1].copy(), "other")).path
    # The source trained on our rows 8 to 13 under other names.
    moved = _data({"train": range(6), "val": range(6, 9), "test": range(9, 14)}, data_hash="our")
    with pytest.raises(InputError, match="1 of 3 val images, 5 of 5 test images"):
        check(moved, start)
    unlike = np.random.default_rng(9).integers(0, 256, (14, 1, 3, 3), dtype=np.uint8)
    assert check(_data(MOVED, unlike, "third"), start)["marks"] == []


def test_an_image_that_our_own_training_holds_too_is_not_the_fault_of_the_start(source, check):
    images = _data(SPLITS).table.images.copy()
    images[9] = images[0]  # the data has equal images in train and test
    start = source(_data(SPLITS, images)).path
    assert check(_data(SPLITS, images), start)["marks"] == []


def test_runs_before_the_source_count(source, check):
    first = source(_data(MOVED), "first")
    second = source(_data(SPLITS), "second", start=first.path)
    with pytest.raises(InputError, match=r"3 of 3 val images, 1 of 5 test images .* by first"):
        check(_data(SPLITS), second.path)


def test_weights_without_a_record_are_said_once_to_be_unknown(check, tmp_path):
    bare = tmp_path / "anna.safetensors"
    bare.touch()
    for given in ({"start": bare}, {"weights": bare}):
        found = check(_data(SPLITS), **given)
        assert found["marks"] == []
        assert len(found["start"]) == 1
        assert "what anna.safetensors was trained on is not known" in found["start"][0]
    assert check(_data(SPLITS)) == {}


def test_weights_within_a_run_folder_are_those_of_the_run(source, check):
    files = source(_data(SPLITS))
    with pytest.raises(InputError, match=r"model\.weights"):
        check(_data(MOVED), weights=files.model)


@pytest.mark.parametrize("name", ["run.json", "splits.json", "config.yaml"])
@pytest.mark.parametrize("damage", ["{", None, '{"splits": 3}'])
def test_a_damaged_record_is_one_message_with_key_and_file(source, check, name, damage):
    files = source(_data(SPLITS), digests=False, done=False)
    path = files.path / name
    if damage is None:
        path.unlink()
    else:
        path.write_text(damage)
    if name == "run.json" and damage is None:
        assert "not known" in check(_data(SPLITS), files.path)["start"][0]
        return
    if name == "config.yaml" and damage is not None and damage != "{":
        assert check(_data(SPLITS), files.path)["marks"] == []  # it starts from nothing
        return
    with pytest.raises(InputError, match=rf"training\.init_from: .*{name}.*"):
        check(_data(SPLITS), files.path)


def test_a_record_or_weights_that_were_changed_are_refused(source, check):
    files = source(_data(SPLITS))
    files.model.write_bytes(b"others")
    with pytest.raises(InputError, match=r"training\.init_from: .*model\.safetensors was changed"):
        check(_data(SPLITS), files.path)


def test_a_run_that_goes_on_was_checked_when_it_started(check, tmp_path):
    assert check(_data(SPLITS), tmp_path / "gone", going_on=True) == {}
