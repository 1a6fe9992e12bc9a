"""Packs: the same pixels and the same data, wherever they are read from."""

import csv
import hashlib
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from medldr.data import build_data, load_table, store
from medldr.data.hashes import hash_table
from medldr.data.loading.workers import ahead
from medldr.datasets.base import BadFile
from medldr.folders.files import read_json


def test_a_pack_is_a_plain_array_and_a_plain_table(lazy, section, small_blocks, make_pack):
    folder, made = make_pack(lazy, section)
    assert made == "made"
    assert sorted(path.name for path in folder.iterdir()) == [
        *("images.npy", "looks.npy", "pack.json", "table.csv")
    ]
    images = np.load(folder / "images.npy", allow_pickle=False)
    assert images.dtype == np.uint8
    raw = b"".join(path.read_bytes() for path in sorted((section.root / "pixels").iterdir()))
    assert images.tobytes() == raw
    with (folder / "table.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[3] == {"id": "item_3", "label": "1", "domain": "", "group": "p,1", "split": "train"}
    facts = read_json(folder / "pack.json")
    for name, said in facts["files"].items():
        content = (folder / name).read_bytes()
        assert said == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert facts["blocks"] == [
        hashlib.sha256(raw[start : start + 48]).hexdigest() for start in range(0, 160, 48)
    ]
    assert (facts["shape"], facts["keys"]) == ([10, 1, 4, 4], {"name": "toys.files"})
    assert facts["stamp"] == lazy.images.stamp


def test_workers_change_nothing(lazy, section, small_blocks, tmp_path, make_pack):
    one, _ = make_pack(lazy, section, tmp_path / "one", workers=0)
    two, _ = make_pack(lazy, section, tmp_path / "two", workers=2)
    for name in ("images.npy", "looks.npy", "table.csv"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def _multi_label(make_table):
    labels = np.array([[0, 1, np.nan], [1, np.nan, 0], [np.nan, np.nan, 1]] * 4)
    # A NaN with its sign set is a missing label as any other, in the hash too.
    labels[0, 2] = -np.nan
    return make_table(labels, classes=3, domains=["é", "b", ""] * 4)


def _volumes(make_table):
    images = np.random.default_rng(2).integers(0, 256, (12, 1, 4, 5, 6), dtype=np.uint8)
    return make_table([0, 1, 2] * 4, images=images)


def _strided(make_table):
    images = np.random.default_rng(3).integers(0, 256, (12, 5, 4, 3), dtype=np.uint8)
    return make_table([0, 1, 2] * 4, images=images.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("kind", [_multi_label, _volumes, _strided])
def test_what_is_in_memory_comes_back_whole_with_the_same_data_hash(
    kind, make_table, section, tmp_path, make_pack, assert_equal_tables
):
    notes = {"notes": ("n",), "shared_groups": (("train", "val"),)}
    table = replace(kind(make_table), **notes, bad_files=(BadFile("a.png", "cut off"),))
    folder, _ = make_pack(table, section, tmp_path / "pack")
    alone = store.open_pack(folder, section).table()
    assert_equal_tables(alone, table)
    assert hash_table(alone) == hash_table(table)
    for name in ("name", "task", "class_names", "notes", "hashes", "shared_groups", "bad_files"):
        assert getattr(alone, name) == getattr(table, name)


def test_a_run_has_the_same_data_packed_or_not_and_alone(
    lazy, section, make_run, make_pack, assert_equal_tables
):
    run = make_run(lazy).model_copy(update={"data": section})
    off = make_run(lazy).model_copy(
        update={"data": section.model_copy(update={"packed": "off"})},
    )
    before = build_data(run)
    folder, _ = make_pack(lazy, section)
    packed, unpacked = build_data(run), build_data(off)
    assert (before.pack, packed.pack, unpacked.pack) == (None, folder, None)
    assert isinstance(packed.table.images, np.memmap)
    assert not packed.table.images.flags.writeable
    hashes = {tuple(each.hashes().values()) for each in (before, packed, unpacked)}
    shutil.rmtree(section.root / "pixels")
    alone = build_data(run)
    assert hashes == {tuple(alone.hashes().values())}
    assert_equal_tables(packed.table, alone.table)
    assert alone.notes[:2] == (
        "a note",
        "toy is read from its pack alone: its original files cannot be read here, so the pack "
        "was not compared with them",
    )


def test_with_a_pack_nothing_is_fetched(lazy, section, make_pack):
    make_pack(lazy, section)
    asked = []
    module = sys.modules[section.name]
    module.load = lambda config: asked.append(config.download) or lazy
    load_table(section.model_copy(update={"download": True}))
    assert asked == [False]


def test_another_place_is_named(lazy, section, tmp_path, make_pack):
    folder, _ = make_pack(lazy, section, tmp_path / "elsewhere" / "pack")
    assert store.find_pack(section) is None
    named = section.model_copy(update={"packed": folder})
    assert isinstance(load_table(named).images, np.memmap)


def test_keys_that_change_nothing_of_the_content_share_a_pack(lazy, section, make_pack):
    folder, _ = make_pack(lazy, section)
    others = {
        "held_out": ("x",),
        "split_seed": 3,
        "exclude": ("item_1",),
        "class_names": ("y", "n"),
    }
    table = load_table(section.model_copy(update=others))
    assert isinstance(table.images, np.memmap)
    assert table.class_names == ("y", "n")
    variant = section.model_copy(update={"variant": "rotated"})
    assert store.usual_place(variant, "toy") != folder
    assert store.find_pack(variant) is None


def test_what_looking_at_every_image_found_is_told_by_each_run(lazy, section, make_run, make_pack):
    (section.root / "pixels" / "006.raw").write_bytes(bytes(16))
    run = make_run(lazy).model_copy(update={"data": section})
    assert "constant" not in " ".join(build_data(run).notes)  # nothing is read for it
    make_pack(lazy, section)
    assert "toy: 1 constant val image: 0" in build_data(run).notes


def test_several_processes_read_at_once_in_any_order(lazy, section, make_pack):
    make_pack(lazy, section)
    images = load_table(section).images
    rows = np.random.default_rng(5).integers(0, 10, 200).tolist()
    expected = [lazy.images[row].tobytes() for row in rows]
    assert list(ahead(lambda row: images[row].tobytes(), rows, 3)) == expected
