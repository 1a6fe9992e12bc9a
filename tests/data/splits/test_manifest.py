"""Manifests: read as they were written, refused when edited, and every id is accounted for."""

import hashlib
import json
import os
import time

import numpy as np
import pytest

from medldr.data.image_table import BadFile
from medldr.data.splits.make import make_splits
from medldr.data.splits.manifest import (
    Made,
    held_out_domains,
    make_manifest,
    read_manifest,
    write_manifest,
)
from medldr.data.splits.target_parts import target_parts
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError

PLAIN = {"medldr": "1", "rule": "one division", "seed": 0, "val": 0.25, "test": 0.25}


def ids(*numbers):
    return [f"item_{number}" for number in numbers]


def parts(train, val, test):
    return {"train": ids(*train), "val": ids(*val), "test": ids(*test)}


@pytest.fixture
def written(tmp_path):
    """Write a manifest of these folds, and return its path."""

    def write(folds, name="splits.json", **made):
        path = tmp_path / name
        write_manifest(path, make_manifest("toy", Made(**PLAIN | made), folds), force=True)
        return path

    return write


@pytest.fixture
def one(written):
    """A single division of ten items."""
    return written({"0": parts([5, 3, 4, 0, 1], [9, 2], [8, 6, 7])})


@pytest.fixture
def two(written):
    """Two folds of four items."""
    folds = {"0": parts([2], [3], [0, 1]), "1": parts([0], [1], [2, 3])}
    return written(folds, rule="folds", test=None)


@pytest.fixture
def left_out(written):
    """A fold per domain of eight items, two of which test their domain as it is seen."""
    folds = {
        "east": {"train": ids(4, 5), "id_val": ids(6), "id_test": ids(7), "test": ids(0, 1, 2, 3)},
        "west": {"train": ids(0, 1), "id_val": ids(2), "id_test": ids(3), "test": ids(4, 5, 6, 7)},
    }
    return written(folds, rule="leave one domain out")


@pytest.fixture
def regions(make_table):
    return make_table([0, 1] * 4, domains=["east"] * 4 + ["west"] * 4)


def config(path, **keys):
    return DatasetConfig(name="toy", manifest=path, **keys)


def refused(table, section):
    with pytest.raises(InputError) as caught:
        make_splits(table, section)
    return str(caught.value)


def test_a_manifest_is_read_as_it_was_written(one):
    manifest = read_manifest(one)
    assert manifest.folds["0"]["val"] == ("item_9", "item_2")
    content = json.loads(one.read_text())
    stated = content.pop("sha256")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert stated == hashlib.sha256(text.encode()).hexdigest()


def test_it_holds_no_groups(make_table, tmp_path):
    from medldr.data.splits.folds import plan_manifest

    table = make_table([0, 1] * 20, groups=[f"Jane Doe {n // 2}" for n in range(40)])
    path = tmp_path / "m.json"
    write_manifest(path, plan_manifest(table, DatasetConfig(name="toy"), folds=3))
    assert "jane" not in path.read_text().casefold()


@pytest.mark.parametrize("sums", [False, True])
def test_an_edited_manifest_is_refused(one, sums):
    content = json.loads(one.read_text())
    fold = content["folds"]["0"]
    fold["train"].append(fold["test"].pop())
    if sums:  # whoever corrects one checksum has to correct the other as well
        del content["sha256"]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        content["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    one.write_text(json.dumps(content))
    with pytest.raises(InputError, match="was changed after it was made"):
        read_manifest(one)


def test_an_edit_of_the_same_size_and_time_is_read_again(one):
    read_manifest(one)
    facts = one.stat()
    time.sleep(0.02)  # a tick of the clock of the file system
    one.write_text(one.read_text().replace('"seed": 0', '"seed": 1'))
    os.utime(one, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(InputError, match="was changed after it was made"):
        read_manifest(one)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{}", "is missing"), ("[]", "should contain a mapping"), ("{", "not readable JSON")],
)
def test_another_file_is_no_manifest(tmp_path, text, said):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_manifest(path)
    with pytest.raises(InputError, match=r"data\.manifest: .*absent\.json cannot be read"):
        read_manifest(tmp_path / "absent.json")


def test_an_item_twice_in_a_fold_is_refused(written):
    path = written({"0": parts([0, 1], [2], [1])})
    with pytest.raises(InputError, match="fold '0' holds 'item_1' twice"):
        read_manifest(path)


def test_another_file_is_never_overwritten_unasked(one):
    manifest = read_manifest(one)
    before = one.read_bytes()
    assert write_manifest(one, manifest) is False
    other = make_manifest("toy", Made(**PLAIN | {"seed": 1}), {"0": parts([0], [1], [2])})
    with pytest.raises(InputError, match="force=True"):
        write_manifest(one, other)
    assert one.read_bytes() == before
    assert write_manifest(one, other, force=True) is True
    assert read_manifest(one) == other


# ---------------------------------------------------------------- splits of a run


def test_a_run_has_the_splits_of_its_manifest(make_table, one):
    rows, notes = make_splits(make_table([0, 1] * 5), config(one))
    assert {name: found.tolist() for name, found in rows.items()} == {
        "train": [0, 1, 3, 4, 5],
        "val": [2, 9],
        "test": [6, 7, 8],
    }
    assert "splits of a manifest" in notes[0]


def test_one_of_several_folds_must_be_named(make_table, two):
    table = make_table([0, 0, 0, 0])
    assert "holds 2 folds. Set it to one of: 0, 1" in refused(table, config(two))
    assert "has no fold '2'" in refused(table, config(two, fold=2))


def test_a_fold_without_a_manifest_is_refused(make_table):
    said = refused(make_table([0, 1] * 5), DatasetConfig(name="toy", fold=1))
    assert "data.manifest is unset" in said


def test_items_unknown_to_either_side_are_counted_and_named(make_table, one):
    said = refused(make_table([0, 1] * 6), config(one))
    assert "in the data alone: 'item_10', 'item_11'" in said
    said = refused(make_table([0, 1] * 3), config(one))
    assert "in the manifest alone: 'item_6', 'item_7', 'item_8' and 1 more" in said


def test_items_left_out_on_purpose_may_be_missing(make_table, one):
    table = make_table([0, 1] * 6)
    rows, _ = make_splits(table, config(one, exclude=["item_10", "item_11", "item_6"]))
    assert rows["test"].tolist() == [7, 8]
    fewer = make_table([0, 1] * 4 + [0], bad_files=(BadFile("item_9.png", "cut off"),))
    rows, notes = make_splits(fewer, config(one))
    assert rows["val"].tolist() == [2]
    assert "1 of 10 items of the manifest have files that are bad" in notes[0]


def test_a_group_in_two_splits_is_refused(make_table, one):
    table = make_table([0, 1] * 5, groups=["p", *(f"q{n}" for n in range(7)), "P ", "r"])
    assert "group 'P ' / 'p' is in train and test" in refused(table, config(one))


# ---------------------------------------------------------------- folds that leave a domain out


def test_the_domain_of_a_fold_is_held_out(regions, left_out):
    section = config(left_out, fold="west")
    assert held_out_domains(section) == ("west",)
    rows, _ = make_splits(regions, section)
    assert {name: found.tolist() for name, found in rows.items()} == {
        "train": [0, 1],
        "id_val": [2],
        "id_test": [3],
        "test": [4, 5, 6, 7],
    }
    found = target_parts(regions, rows["test"], section)
    assert sorted(np.concatenate(list(found.values())).tolist()) == [4, 5, 6, 7]
    # The parts are those of the same domain held out by its key.
    by_key = DatasetConfig(name="toy", held_out=["west"])
    same = target_parts(regions, rows["test"], by_key)
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in same.items()}


def test_a_held_out_domain_beside_it_is_refused(regions, left_out):
    said = refused(regions, config(left_out, fold="west", held_out=["east"]))
    assert "data.held_out (east) and data.manifest are both set" in said


def test_other_folds_may_hold_a_domain_out_as_well(regions, written):
    path = written({"0": parts([0, 1, 4], [2, 5], [3, 6, 7])})
    rows, _ = make_splits(regions, config(path, held_out=["west"]))
    assert {name: found.tolist() for name, found in rows.items()} == {
        "train": [0, 1],
        "id_val": [2],
        "id_test": [3],
        "test": [6, 7],
    }


def test_it_replaces_splits_of_the_data_set(make_table, one):
    table = make_table([0, 1] * 5, splits=["train"] * 8 + ["test"] * 2)
    rows, notes = make_splits(table, config(one))
    assert rows["test"].tolist() == [6, 7, 8]
    assert "in place of the data set's own" in notes[0]
