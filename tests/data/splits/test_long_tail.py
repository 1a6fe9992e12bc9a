"""`data.imbalance` of a run: training rows only, exact or refused, and told."""

import hashlib
import json
import re

import numpy as np
import pytest

from medldr.config import load_config, run_hash
from medldr.data.build import build_data
from medldr.data.splits.folds import plan_manifest
from medldr.data.splits.long_tail import sizes
from medldr.data.splits.make import make_splits
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError

DERMA = {  # a set that is unequal before: rows of each class
    "akiec": 228, "bcc": 359, "bkl": 769, "df": 80, "mel": 779, "nv": 4693, "vasc": 99,
}  # fmt: skip


def config(factor=None, **keys):
    imbalance = {k: keys.pop(k) for k in ("kind", "order", "largest", "seed") if k in keys}
    if factor is not None:
        keys["imbalance"] = {"factor": factor, **imbalance}
    return DatasetConfig(name="toy", **keys)


def refusal(table, section):
    with pytest.raises(InputError) as caught:
        make_splits(table, section)
    return str(caught.value)


@pytest.fixture
def derma(make_table):
    """A training part like DermaMNIST's, with a validation and a test part of ten rows a class."""
    labels = np.concatenate([np.repeat(np.arange(7), list(DERMA.values())), np.tile(range(7), 20)])
    splits = ["train"] * sum(DERMA.values()) + ["val"] * 70 + ["test"] * 70
    return make_table(labels, splits=splits, class_names=tuple(DERMA))


def counts(table, rows):
    return np.bincount(table.labels[rows], minlength=len(table.class_names)).tolist()


# ---------------------------------------------------------------- sizes and notes


def test_only_training_rows_are_taken_away(derma):
    plain, _ = make_splits(derma, config())
    rows, notes = make_splits(derma, config(20))
    assert np.array_equal(rows["val"], plain["val"])
    assert np.array_equal(rows["test"], plain["test"])
    assert set(rows["train"]) < set(plain["train"])
    found = sorted(counts(derma, rows["train"]), reverse=True)
    assert found == sizes(found[0], 7, 20, "exp")
    assert found[0] / found[-1] == pytest.approx(20, rel=0.05)
    (note,) = notes
    assert f"{sum(found):,} of {sum(DERMA.values()):,} training rows used" in note
    assert f": nv {found[0]:,}, " in note
    assert note.endswith(f", df {found[-1]:,}.")


def test_the_class_with_most_rows_is_the_largest_and_has_what_others_allow(derma):
    rows, _ = make_splits(derma, config(20))
    of = dict(zip(DERMA, counts(derma, rows["train"]), strict=True))
    # The most of the largest class with which each class has its share, found by trying them all.
    by_rank = sorted(DERMA.values(), reverse=True)
    shares = [0.05 ** (place / 6) for place in range(7)]
    most = min(
        max(n for n in range(1, 4694) if int(n * s) <= have)
        for s, have in zip(shares, by_rank, strict=True)
    )
    assert of["nv"] == most
    assert sorted(of, key=of.get, reverse=True) == [
        "nv",
        "mel",
        "bkl",
        "bcc",
        "akiec",
        "vasc",
        "df",
    ]


def test_a_smaller_largest_class_can_be_asked_for(derma):
    rows, _ = make_splits(derma, config(10, largest=200))
    assert sorted(counts(derma, rows["train"]), reverse=True) == sizes(200, 7, 10, "exp")


def test_it_follows_the_part_that_is_used(make_table):
    table = make_table(np.repeat([0, 1, 2], 200), splits=["train", "test"] * 300)
    rows, notes = make_splits(table, config(4, train_fraction=0.5, val_fraction=0.2))
    # Of 100 training rows a class, 20 validate and half of the others are used.
    assert counts(table, rows["val"]) == [20, 20, 20]
    assert counts(table, rows["train"]) == [40, 20, 10]
    assert len(notes) == 3


def test_it_follows_held_out_domains(make_table):
    labels = np.tile([0, 1], 300)
    domains = np.repeat(["north", "south", "west"], 200)
    table = make_table(labels, domains=domains)
    plain, _ = make_splits(table, config(held_out=["west"]))
    rows, _ = make_splits(table, config(5, held_out=["west"]))
    assert {name: len(r) for name, r in rows.items() if name != "train"} == {
        name: len(r) for name, r in plain.items() if name != "train"
    }
    assert set(table.domains[rows["train"]]) == {"north", "south"}
    assert counts(table, rows["train"]) == [140, 28]


def test_a_domain_without_training_rows_is_told(make_table):
    # The only row of the east is of a class of which one row in a hundred stays.
    labels = np.r_[np.zeros(200, int), np.ones(200, int)]
    domains = np.array(["west"] * 399 + ["east"])
    table = make_table(labels, domains=domains, splits=["train"] * 400)
    _, notes = make_splits(table, config(100, val_fraction=0.01))
    assert any("left no training row of east." in n for n in notes)


def test_a_manifest_holds_all_rows_and_runs_make_them_long_tailed(make_table, tmp_path):
    from medldr.data.splits.manifest import write_manifest

    table = make_table(np.tile([0, 1], 100))
    manifest = plan_manifest(table, config(4))
    assert sum(len(ids) for ids in manifest.folds["0"].values()) == 200
    write_manifest(tmp_path / "splits.json", manifest)
    rows, _ = make_splits(table, config(4, manifest=tmp_path / "splits.json"))
    assert counts(table, rows["train"]) == [70, 17]


# ---------------------------------------------------------------- groups


def test_patients_stay_whole_and_what_is_missing_is_told(make_table):
    labels = np.r_[np.zeros(300, int), np.ones(90, int)]
    groups = np.array([f"p{n // 4}" for n in range(300)] + [f"q{n // 9}" for n in range(90)])
    table = make_table(labels, groups=groups, splits=["train"] * 390)
    rows, notes = make_splits(table, config(6, val_fraction=0.2))
    kept = set(table.groups[rows["train"]])
    others = np.setdiff1d(np.arange(390), np.r_[rows["train"], rows["val"]])
    assert not kept & set(table.groups[others])
    assert not kept & set(table.groups[rows["val"]])
    assert counts(table, rows["train"]) == [240, 36]
    assert notes[-1].endswith(": a 240, b 36 of 40.")


def test_groups_that_prevent_it_are_refused(make_table):
    labels = np.r_[np.zeros(400, int), np.ones(100, int)]
    groups = np.array([""] * 400 + [f"q{n // 25}" for n in range(100)])
    table = make_table(labels, groups=groups, splits=["train"] * 500)
    message = refusal(table, config(40, val_fraction=0.01))
    assert re.search(r"data\.imbalance\.factor 40: groups of toy .* b 0 of \d+\. Choose", message)


# ---------------------------------------------------------------- refusals


def test_a_class_that_would_vanish_is_named(derma):
    assert "factor 6000 leaves no training row of 'df' of toy" in refusal(derma, config(6000))


def test_more_rows_than_there_are_are_refused_with_the_most_possible(derma):
    message = refusal(derma, config(20, largest=4000))
    most = max(counts(derma, make_splits(derma, config(20)).rows["train"]))
    assert "largest is 4,000, for which 'mel' of toy has too few training rows (779 of" in message
    assert message.endswith(f"Set it to {most:,} or less")


def test_several_labels_an_image_and_single_classes_are_refused(make_table):
    labels = np.random.default_rng(0).integers(0, 2, (40, 3))
    assert "is multi-label" in refusal(make_table(labels), config(5))
    one = make_table([0] * 40, classes=2)
    assert "needs two classes" in refusal(one, config(5, allow_missing_classes=True))


# ---------------------------------------------------------------- of a run


def test_a_run_records_counts_and_subset(make_table, make_run):
    table = make_table(
        np.tile([0, 1, 2], 100), splits=["train"] * 240 + ["val"] * 30 + ["test"] * 30
    )
    data = build_data(make_run(table, data={"imbalance": {"factor": 4}}))
    assert data.spec.class_counts == (80, 40, 20)
    ids = table.ids[data.rows["train"]].tolist()
    expected = hashlib.sha256("\0".join(ids).encode()).hexdigest()
    assert data.record()["subset_hash"] == expected
    assert json.dumps(data.record())
    other = build_data(make_run(table, data={"imbalance": {"factor": 4, "seed": 1}}))
    assert other.spec.class_counts == data.spec.class_counts
    assert other.record()["subset_hash"] != expected
    assert other.split_hash != data.split_hash
    assert len(data.manifest()["left_out"]) == 240 - 140


def test_the_runs_seed_changes_no_row(make_table, make_run):
    table = make_table(
        np.tile([0, 1, 2], 100), splits=["train"] * 240 + ["val"] * 30 + ["test"] * 30
    )
    hashes = {
        build_data(make_run(table, data={"imbalance": {"factor": 4}}, seed=seed)).split_hash
        for seed in (0, 1)
    }
    assert len(hashes) == 1


def test_it_is_part_of_a_runs_identity_and_unset_it_is_not():
    plain = run_hash(load_config("dermamnist_erm"))
    assert run_hash(load_config("dermamnist_erm", ["data.imbalance=null"])) == plain
    found = {
        run_hash(load_config("dermamnist_erm", [f"data.imbalance={text}"]))
        for text in ("{factor: 10}", "{factor: 20}", "{factor: 10, seed: 1}")
    }
    assert len(found | {plain}) == 4
