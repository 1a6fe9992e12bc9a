"""Making folds: each item is tested once, no group is divided, every part looks like the whole."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.image_table import ImageTable
from medldr.data.splits.folds import plan_manifest, rare_class_notes
from medldr.data.splits.make import make_splits
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError


def config(**keys):
    return DatasetConfig(name="toy", **keys)


def rows_of(manifest, fold, split):
    return [int(item.removeprefix("item_")) for item in manifest.folds[fold].get(split, ())]


def table_of(labels, groups=None, domains=None):
    rows = len(labels)
    texts = {"groups": groups, "domains": domains, "splits": None}
    return ImageTable(
        name="toy",
        task="multi-class",
        class_names=tuple("abcdefgh"[: max(labels) + 1]),
        images=np.zeros((rows, 1, 4, 4), np.uint8),
        labels=np.asarray(labels, np.int64),
        ids=np.array([f"item_{n}" for n in range(rows)]),
        **{k: np.array([""] * rows if v is None else v, np.str_) for k, v in texts.items()},
    )


@pytest.fixture(scope="module")
def clinics():
    """420 items of 150 patients in three clinics that differ in size and in their classes."""
    generator = np.random.default_rng(1)
    groups, domains, labels = [], [], []
    for patient in range(150):
        clinic = generator.choice(["north", "south", "west"], p=[0.5, 0.3, 0.2])
        for _ in range(generator.integers(1, 5)):
            groups.append(f"p{patient}")
            domains.append(clinic)
            labels.append(int(generator.choice(3, p=[0.6, 0.3, 0.1])))
    return table_of(labels, groups, domains)


def test_each_item_is_tested_in_one_fold_and_used_in_all(clinics):
    manifest = plan_manifest(clinics, config(), folds=5)
    assert list(manifest.folds) == ["0", "1", "2", "3", "4"]
    tested = Counter(row for fold in manifest.folds for row in rows_of(manifest, fold, "test"))
    assert tested == Counter(range(len(clinics)))
    for fold in manifest.folds:
        used = [row for s in ("train", "val", "test") for row in rows_of(manifest, fold, s)]
        assert sorted(used) == list(range(len(clinics)))


@pytest.mark.parametrize("folds", [3, 5])
def test_parts_keep_classes_and_domains(clinics, folds):
    manifest = plan_manifest(clinics, config(val_fraction=0.2), folds=folds)
    for fold in manifest.folds:
        for split, size in (("test", 1 / folds), ("val", 0.2)):
            rows = rows_of(manifest, fold, split)
            assert len(rows) == pytest.approx(size * len(clinics), abs=6)
            for column in (clinics.labels, clinics.domains):
                for value in np.unique(column):
                    whole = (column == value).sum() * size
                    assert (column[rows] == value).sum() == pytest.approx(whole, abs=5)


def test_rests_do_not_pile_up_in_the_first_part():
    """Twelve classes within domains of five items each: no third of them divides evenly."""
    labels = np.tile(np.repeat([0, 1, 2], 5), 4).tolist()
    domains = np.repeat(["a", "b", "c", "d"], 15).tolist()
    manifest = plan_manifest(table_of(labels, domains=domains), config(), folds=3)
    sizes = [len(rows_of(manifest, fold, "test")) for fold in manifest.folds]
    assert max(sizes) - min(sizes) <= 2  # by class within a domain alone: 24, 24, 12
    for fold in manifest.folds:
        counts = np.bincount(np.array(labels)[rows_of(manifest, fold, "test")])
        assert max(counts) - min(counts) <= 2


def test_one_division_is_that_of_a_run_of_the_same_seed(clinics):
    section = config(split_seed=4, val_fraction=0.2, test_fraction=0.3)
    manifest = plan_manifest(clinics, section)
    rows, _ = make_splits(clinics, section)
    assert {s: rows_of(manifest, "0", s) for s in rows} == {s: r.tolist() for s, r in rows.items()}
    assert manifest.made.rule == "one division"


def test_a_domain_left_out_is_that_of_a_run_that_holds_it_out(clinics):
    manifest = plan_manifest(clinics, config(), domains=True)
    assert list(manifest.folds) == ["north", "south", "west"]
    for domain in manifest.folds:
        rows, _ = make_splits(clinics, config(held_out=[domain]))
        assert {s: rows_of(manifest, domain, s) for s in rows} == {
            s: r.tolist() for s, r in rows.items()
        }
        assert set(clinics.domains[rows_of(manifest, domain, "test")]) == {domain}
        assert domain not in clinics.domains[rows_of(manifest, domain, "train")]


def test_spellings_of_one_group_are_one_group():
    groups = [name for n in range(9) for name in (f"P{n}", f" p{n} ")]
    table = table_of([0] * 18, groups)
    manifest = plan_manifest(table, config(exclude=["P4"]), folds=3)  # as the data set spells it
    for fold in manifest.folds:
        tested = rows_of(manifest, fold, "test")
        assert {row ^ 1 for row in tested} - {8} == set(tested) - {9}


def test_excluded_items_are_in_no_part(clinics):
    manifest = plan_manifest(clinics, config(exclude=["p3", "item_300"]), folds=3)
    gone = {*np.flatnonzero(clinics.groups == "p3").tolist(), 300}
    for fold in manifest.folds:
        used = {row for s in ("train", "val", "test") for row in rows_of(manifest, fold, s)}
        assert used == set(range(len(clinics))) - gone


@given(st.data(), st.integers(2, 5))
@settings(max_examples=25, deadline=None)
def test_any_groups_stay_whole_and_are_tested_once(data, folds):
    rows = data.draw(st.integers(6, 60))
    names = st.sampled_from([*(f"g{n}" for n in range(9)), ""])
    groups = data.draw(st.lists(names, min_size=rows, max_size=rows))
    labels = data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows))
    domains = data.draw(st.lists(st.sampled_from("xy"), min_size=rows, max_size=rows))
    table = table_of(labels, groups, domains)
    units = len(set(groups) - {""}) + groups.count("")
    if folds > units or units < 3:
        with pytest.raises(InputError, match=f"folds={folds}"):
            plan_manifest(table, config(), folds=folds)
        return
    manifest, why = None, ""
    try:
        manifest = plan_manifest(table, config(), folds=folds)
    except InputError as error:  # one group may be nearly all of a small set
        why = str(error)
    if manifest is None:
        assert "too few groups" in why
        assert units < 3 * folds
        return
    tested = [row for fold in manifest.folds for row in rows_of(manifest, fold, "test")]
    assert sorted(tested) == list(range(rows))
    for fold in manifest.folds:
        split_of = {}
        for split in ("train", "val", "test"):
            for row in rows_of(manifest, fold, split):
                unit = groups[row] or f"row {row}"
                assert split_of.setdefault(unit, split) == split


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"folds": 1}, "folds=1: .* at least 2 folds"),
        ({"folds": 8}, "folds=8: .* has 7 groups.*no more than that"),
        ({"folds": 3, "domains": True}, "two ways to make folds"),
        ({"domains": True}, "leave_one_domain_out: .* needs two domains"),
    ],
)
def test_what_cannot_be_made_is_refused(keys, said):
    table = table_of([0, 1] * 7, [f"p{n // 2}" for n in range(14)])
    with pytest.raises(InputError, match=said):
        plan_manifest(table, config(), **keys)


def test_items_without_a_domain_are_refused_where_domains_are_left_out():
    table = table_of([0, 1] * 3, domains=["a", "a", "b", "b", "", "a"])
    with pytest.raises(InputError, match=r"'item_4' of toy, which has no domain"):
        plan_manifest(table, config(), domains=True)


def test_a_validation_share_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match=r"val=0\.6 leaves nothing to train on"):
        plan_manifest(table_of([0, 1] * 10), config(val_fraction=0.6), folds=2)


# ---------------------------------------------------------------- rare classes


def test_a_class_too_rare_for_every_part_is_named_with_the_parts_that_lack_it():
    table = table_of([0] * 20 + [1] * 20 + [2], [f"p{n // 2}" for n in range(40)] + ["single"])
    (note,) = rare_class_notes(table, plan_manifest(table, config()))
    assert note == "class 'c' has no item in val of fold 0, test of fold 0"


def test_in_folds_it_is_tested_once_and_not_trained_on_there():
    table = table_of([0] * 20 + [1] * 20 + [2])
    manifest = plan_manifest(table, config(), folds=4)
    (fold,) = [name for name in manifest.folds if 40 in rows_of(manifest, name, "test")]
    (note,) = rare_class_notes(table, manifest)
    for name in manifest.folds:
        assert (f"train of fold {name}" in note) == (name == fold)
        assert (f"test of fold {name}" in note) == (name != fold)


def test_labels_that_are_not_exclusive_are_divided_too(make_table):
    labels = (np.random.default_rng(0).random((90, 3)) < [0.5, 0.3, 0.15]).astype(np.float32)
    labels[::17, 1] = np.nan
    manifest = plan_manifest(make_table(labels), config(), folds=3)
    positives = [np.nansum(labels[rows_of(manifest, f, "test")], axis=0) for f in manifest.folds]
    assert np.ptp(positives, axis=0).max() <= 3
