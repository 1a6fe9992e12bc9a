"""From a configuration to the data of a run: specification, hashes, notes, early errors."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.data import build_data, load_table
from medldr.data.hashes import hash_splits, hash_table
from medldr.errors import InputError


@pytest.fixture
def table(make_table):
    return make_table([0, 1, 2] * 10, splits=["train"] * 18 + ["val"] * 6 + ["test"] * 6)


def test_the_specification_is_of_the_rows_used_and_of_the_networks_input(make_run, table):
    run = make_run(
        table,
        data={"train_fraction": 0.5},
        transform={"name": "medmnist", "size": 8, "channels": 3},
    )
    spec = build_data(run).spec
    assert (spec.task, spec.class_names, spec.class_counts) == (
        "multi-class",
        ("a", "b", "c"),
        (3, 3, 3),
    )
    assert (spec.channels, spec.spatial_size) == (3, (8, 8))
    assert spec.domains == spec.train_domains == ()


def test_class_names_can_be_replaced_and_nothing_else_changes(make_run, table):
    run = make_run(table, data={"class_names": ["no", "yes", "maybe"]})
    assert build_data(run).spec.class_names == ("no", "yes", "maybe")
    with pytest.raises(InputError, match=r"data\.class_names: toy needs 3 different names"):
        load_table(make_run(table, data={"class_names": ["x", "y"]}).data)


def test_a_broken_table_is_refused_before_anything_else(make_run, table):
    with pytest.raises(InputError, match="images are float64"):
        build_data(make_run(replace(table, images=table.images.astype(np.float64))))


def test_class_weights_that_cannot_be_are_refused_before_the_first_step(make_run, table):
    with pytest.raises(InputError, match="has 2 numbers, but there are 3 classes"):
        build_data(make_run(table, training={"class_weights": [1, 2]}))


def test_balanced_weights_of_a_missing_class_are_finite_and_it_is_named(make_run, make_table):
    table = make_table([0, 1] * 6, classes=3, splits=["train"] * 8 + ["val"] * 4)
    run = make_run(
        table, data={"allow_missing_classes": True}, training={"class_weights": "balanced"}
    )
    data = build_data(run)
    assert data.class_weights(run.training.class_weights).tolist() == [1, 1, 1]
    assert any("class 'c' of toy: 0 training rows" in note for note in data.notes)
    with pytest.raises(InputError, match="class 'c' of toy: 0 training rows"):
        build_data(make_run(table))


def test_notes_of_dataset_check_and_splits_come_together(make_run, table):
    table.images[29] = 0
    run = make_run(replace(table, notes=("told by the dataset",)), data={"train_fraction": 0.5})
    assert build_data(run).notes == (
        "told by the dataset",
        "toy: 1 constant test image: 5",
        "9 of 18 training rows used (data.train_fraction 0.5).",
    )


def test_the_selection_split_is_named(make_run, table, make_table):
    assert build_data(make_run(table)).selection_split == "val"
    domains = replace(table, domains=np.array(["x", "y", "x"] * 10))
    run = make_run(
        replace(domains, labels=np.array([0, 0, 1] * 10), class_names=("a", "b")),
        data={"held_out": ["y"]},
    )
    assert build_data(run).selection_split == "id_val"


def test_the_manifest_names_every_item_of_every_split(make_run, table):
    data = build_data(make_run(table))
    manifest = data.manifest()
    assert manifest["splits"]["val"] == [f"item_{n}" for n in range(18, 24)]
    assert manifest["split_hash"] == data.split_hash
    assert manifest["data_hash"] == data.data_hash


def test_the_data_hash_tells_any_change_of_content(table):
    before = hash_table(table)
    assert hash_table(replace(table)) == before
    images = table.images.copy()
    images[3, 0, 1, 1] ^= 1
    labels = table.labels.copy()
    labels[0] = 2
    others = [
        replace(table, images=images),
        replace(table, labels=labels),
        replace(table, ids=np.char.add(table.ids, "x")),
        replace(table, hashes={"file.npz": "00"}),
    ]
    assert len({before, *map(hash_table, others)}) == 5


def test_the_split_hash_tells_which_items_are_where(make_run, table):
    def of(**data):
        return build_data(make_run(table, data=data)).split_hash

    assert of() == of()
    assert len({of(), of(exclude=["item_3"]), of(train_fraction=0.5)}) == 3
    rows = {"train": np.array([0, 1]), "val": np.array([2])}
    moved = {"train": np.array([0]), "val": np.array([1, 2])}
    assert hash_splits(table, rows) != hash_splits(table, moved)


def test_a_lone_last_image_is_left_out_of_training_but_scored(make_run, make_table):
    table = make_table([0, 1] * 22, splits=["train"] * 33 + ["val"] * 11)
    run = make_run(
        table, training={"batch_size": 4, "drop_last": False}, evaluation={"batch_size": 2}
    )
    data = build_data(run)
    train = data.train_loader(run, sampler="shuffle", device="cpu")
    assert [len(batch.index) for batch in train.batches(0)] == [4] * 8
    scored = data.eval_loader("val", run, device="cpu")
    assert sum(len(batch.index) for batch in scored) == 11
