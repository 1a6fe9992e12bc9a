"""Splits: stratified, seeded, never through a group; held-out domains are never seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.splits.make import make_splits, selection_split
from medldr.data.splits.stratify import class_table, divide, keep_fraction, shares, with_domains
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError


def config(**keys):
    return DatasetConfig(name="toy", **keys)


def own(parts):
    return [name for name, count in parts.items() for _ in range(count)]


@pytest.fixture
def hospitals(make_table):
    """Three hospitals, two classes, 20 rows each, with the dataset's own splits."""
    rows = [
        (hospital, label, split)
        for hospital in ("north", "south", "west")
        for split, count in (("train", 12), ("val", 4), ("test", 4))
        for label in [0, 1] * (count // 2)
    ]
    names, labels, splits = zip(*rows, strict=True)
    return make_table(labels, domains=names, splits=splits)


# ---------------------------------------------------------------- own splits


def test_own_splits_are_kept_as_they_are(make_table):
    table = make_table([0, 1] * 10, splits=own({"train": 12, "val": 4, "test": 4}))
    rows, notes = make_splits(table, config())
    assert {name: r.tolist() for name, r in rows.items()} == {
        "train": list(range(12)),
        "val": [12, 13, 14, 15],
        "test": [16, 17, 18, 19],
    }
    assert notes == ()


def test_validation_rows_come_from_training_where_a_dataset_has_none(make_table):
    table = make_table([0, 1] * 50, splits=own({"train": 80, "test": 20}))
    rows, notes = make_splits(table, config(val_fraction=0.25))
    assert len(rows["train"]) == 60
    assert np.bincount(table.labels[rows["val"]]).tolist() == [10, 10]
    assert rows["test"].tolist() == list(range(80, 100))
    assert "no validation split: 20 of its 80" in notes[0]


# ---------------------------------------------------------------- seeded splits


def test_seeded_splits_are_stratified_disjoint_and_complete(make_table):
    labels = np.repeat([0, 1, 2], [100, 40, 20])
    table = make_table(labels)
    rows, _ = make_splits(table, config())
    counts = {name: np.bincount(labels[r], minlength=3).tolist() for name, r in rows.items()}
    assert counts == {"train": [70, 28, 14], "val": [15, 6, 3], "test": [15, 6, 3]}
    assert sorted(np.concatenate(list(rows.values()))) == list(range(160))


def test_a_rare_class_is_named_with_its_count_and_keeps_its_place(make_table):
    table = make_table([0] * 9 + [1], class_names=("common", "rare"))
    rows, notes = make_splits(table, config())
    assert 9 in rows["train"]
    assert any("'rare' has 1 row" in n and "none in val, test" in n for n in notes)


def test_groups_stay_whole_in_seeded_splits(make_table):
    generator = np.random.default_rng(0)
    groups = [f"p{g}" for g in generator.integers(0, 40, 300)]
    labels = generator.integers(0, 3, 300)
    table = make_table(labels, groups=groups)
    rows, _ = make_splits(table, config())
    of_split = {name: set(table.groups[r]) for name, r in rows.items()}
    assert not of_split["train"] & of_split["val"]
    assert not of_split["train"] & of_split["test"]
    assert not of_split["val"] & of_split["test"]
    for name, share in (("train", 0.7), ("val", 0.15), ("test", 0.15)):
        assert abs(len(rows[name]) / 300 - share) < 0.05
        for k in range(3):
            part = (labels[rows[name]] == k).sum() / (labels == k).sum()
            assert abs(part - share) < 0.1


def test_fractions_that_leave_no_training_are_refused(make_table):
    with pytest.raises(InputError, match=r"val_fraction 0\.5.*leave nothing to train on"):
        make_splits(make_table([0, 1]), config(val_fraction=0.5, test_fraction=0.5))


# ---------------------------------------------------------------- held-out domains


def test_held_out_rows_are_tested_on_and_never_trained_or_validated_on(hospitals):
    rows, _ = make_splits(hospitals, config(held_out=["west"]))
    domains = {name: set(hospitals.domains[r]) for name, r in rows.items()}
    seen = {"north", "south"}
    assert domains == {"train": seen, "id_val": seen, "id_test": seen, "test": {"west"}}
    assert {name: len(r) for name, r in rows.items()} == {
        "train": 24,
        "id_val": 8,
        "id_test": 8,
        "test": 4,
    }
    assert selection_split(rows) == "id_val"


def test_all_rows_of_a_held_out_domain_can_be_tested_on(hospitals):
    rows, _ = make_splits(hospitals, config(held_out=["west"], held_out_rows="all"))
    assert len(rows["test"]) == 20
    assert set(hospitals.domains[rows["test"]]) == {"west"}


def test_the_order_of_held_out_never_matters(hospitals):
    one = config(held_out=["west", "north"])
    other = config(held_out=["north", "west"])
    assert one == other
    first, second = make_splits(hospitals, one), make_splits(hospitals, other)
    assert all(np.array_equal(first.rows[n], second.rows[n]) for n in first.rows)


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        (["wst"], r"no domain 'wst'\. Did you mean 'west'\? Domains: north, south, west"),
        (["north", "south", "west"], r"every domain of toy is held out"),
    ],
)
def test_impossible_held_out_domains_are_named(hospitals, held_out, message):
    with pytest.raises(InputError, match=message):
        make_splits(hospitals, config(held_out=held_out))


def test_held_out_without_domains_is_refused(make_table):
    with pytest.raises(InputError, match=r"toy has no domains"):
        make_splits(make_table([0, 1] * 5), config(held_out=["a"]))


def test_a_held_out_domain_without_test_rows_names_the_counts_and_the_cure(make_table):
    table = make_table(
        [0, 1] * 10,
        splits=own({"train": 12, "val": 4, "test": 4}),
        domains=["0"] * 8 + ["1"] * 4 + ["0"] * 8,
    )
    message = r"domain '1' of toy has 0 test rows\. Domains found: 0: 16, 1: 4\..*held_out_rows=all"
    with pytest.raises(InputError, match=message):
        make_splits(table, config(held_out=["1"]))
    rows, _ = make_splits(table, config(held_out=["1"], held_out_rows="all"))
    assert rows["test"].tolist() == [8, 9, 10, 11]


# ---------------------------------------------------------------- groups


def test_a_group_in_two_splits_is_an_error_that_names_it(make_table):
    groups = [f"P{n}" for n in range(20)]
    groups[0] = groups[13] = "P23"
    table = make_table([0, 1] * 10, splits=own({"train": 12, "val": 4, "test": 4}), groups=groups)
    with pytest.raises(InputError, match=r"group 'P23' is in train and val.*1 such groups"):
        make_splits(table, config())
    make_splits(table, config(exclude=["P23"]))


def test_spellings_of_one_group_are_one_group(make_table):
    groups = [f"P{n}" for n in range(20)]
    groups[0], groups[19] = "P99", "p99 "
    table = make_table([0, 1] * 10, splits=own({"train": 12, "val": 4, "test": 4}), groups=groups)
    with pytest.raises(InputError, match=r"group 'P99' / 'p99 ' is in train and test"):
        make_splits(table, config())


def test_patients_seen_by_several_scanners_do_not_leak_into_a_held_out_test(make_table):
    table = make_table(
        [0, 1] * 20, domains=["a", "a", "b", "b"] * 10, groups=[f"p{n // 4}" for n in range(40)]
    )
    with pytest.raises(InputError, match=r"is in .*test.*held_out_rows=test"):
        make_splits(table, config(held_out=["b"]))
    rows, _ = make_splits(table, config(held_out=["b"], held_out_rows="test"))
    assert not set(table.groups[rows["train"]]) & set(table.groups[rows["test"]])


# ---------------------------------------------------------------- exclude, fraction, classes


def test_excluded_items_and_groups_are_nowhere(make_table):
    table = make_table(
        [0, 1] * 10,
        splits=own({"train": 12, "val": 4, "test": 4}),
        groups=[f"g{n // 2}" for n in range(20)],
    )
    rows, notes = make_splits(table, config(exclude=["item_0", "g7"]))
    left = np.concatenate(list(rows.values()))
    assert sorted(set(range(20)) - set(left.tolist())) == [0, 14, 15]
    assert "3 of 20 rows left out" in notes[0]


def test_an_unknown_id_is_named_with_the_nearest(make_table):
    table = make_table([0, 1] * 10)
    with pytest.raises(InputError, match=r"no item or group 'itm_7'\. Did you mean 'item_7'"):
        make_splits(table, config(exclude=["itm_7"]))


def test_a_dataset_without_training_rows_is_an_error(make_table):
    table = make_table([0, 1, 0, 1], splits=["val", "val", "test", "test"])
    with pytest.raises(InputError, match=r"no row is left to train on. Rows found: 4"):
        make_splits(table, config())
    only_test = make_table([0, 1], splits=["test", "test"])
    with pytest.raises(InputError, match=r"no row is left to train on"):
        make_splits(only_test, config())


def test_train_fraction_keeps_class_shares_and_leaves_other_splits_alone(make_table):
    labels = np.repeat([0, 1, 2], [100, 50, 2])
    table = make_table(np.r_[labels, labels], splits=["train"] * 152 + ["val"] * 152)
    rows, notes = make_splits(table, config(train_fraction=0.3))
    assert np.bincount(table.labels[rows["train"]]).tolist() == [30, 15, 1]
    assert len(rows["val"]) == 152
    assert "46 of 152 training rows used" in notes[0]
    smaller = make_splits(table, config(train_fraction=0.1)).rows["train"]
    assert set(smaller) <= set(rows["train"])


def test_train_fraction_keeps_or_drops_whole_groups(make_table):
    groups = [f"p{n // 5}" for n in range(200)]
    table = make_table([0] * 100 + [1] * 100, splits=own({"train": 200}), groups=groups)
    rows, _ = make_splits(table, config(train_fraction=0.4))
    train = set(table.groups[rows["train"]])
    for group in train:
        assert set(np.flatnonzero(table.groups == group)) <= set(rows["train"])
    assert len(rows["train"]) == pytest.approx(0.4 * 170, abs=6)


def test_a_class_missing_from_training_is_an_error_unless_allowed(make_table):
    table = make_table([0, 1, 0, 1, 0, 2], splits=own({"train": 4, "val": 2}))
    with pytest.raises(InputError, match=r"class 'c' of toy: 0 training rows .*a: 2, b: 2, c: 0"):
        make_splits(table, config())
    _, notes = make_splits(table, config(allow_missing_classes=True))
    assert any("class 'c' of toy: 0 training rows" in note for note in notes)


def test_a_label_without_a_positive_training_row_is_an_error(make_table):
    labels = [[1, 0], [1, np.nan], [0, 0], [1, 1]]
    table = make_table(labels, splits=["train", "train", "train", "val"])
    with pytest.raises(InputError, match=r"class 'b' of toy: no positive training row"):
        make_splits(table, config())


# ---------------------------------------------------------------- the division itself


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 60),
    st.integers(1, 4),
    st.integers(0, 12),
    st.lists(st.floats(0.05, 1), min_size=2, max_size=4),
)
def test_a_division_is_total_and_keeps_groups_whole(seed, rows, classes, groups, weights):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, classes, rows)
    names = np.array(
        [f"g{n}" if n < groups else "" for n in generator.integers(0, groups + 3, rows)]
    )
    fractions = np.array(weights) / sum(weights)
    part = divide(class_table(labels, classes), names, fractions, np.random.default_rng(seed))
    assert part.shape == (rows,)
    assert set(part.tolist()) <= set(range(len(fractions)))
    for name in set(names.tolist()) - {""}:
        assert len(set(part[names == name])) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 500), st.lists(st.floats(0.01, 1), min_size=1, max_size=5))
def test_shares_sum_up_and_stay_within_one_of_exact_where_there_is_plenty(count, weights):
    fractions = np.array(weights) / sum(weights)
    sizes = shares(count, fractions)
    assert sum(sizes) == count
    if (fractions * count >= 1).all():
        assert np.abs(np.array(sizes) - fractions * count).max() < 1 + 1e-6


def test_several_labels_per_row_are_divided_evenly():
    generator = np.random.default_rng(0)
    labels = (generator.random((2000, 5)) < [0.5, 0.3, 0.1, 0.05, 0.01]).astype(np.float32)
    table = class_table(labels, 5)
    part = divide(table, np.array([""] * 2000), (0.7, 0.15, 0.15), np.random.default_rng(0))
    assert np.abs(np.bincount(part) / 2000 - [0.7, 0.15, 0.15]).max() < 0.01
    for p, share in enumerate((0.7, 0.15, 0.15)):
        assert np.abs(table[part == p].sum(0) / table.sum(0) - share).max() < 0.05


def test_strata_are_classes_within_domains():
    labels = np.array([0, 1] * 40)
    domains = np.array(["a"] * 20 + ["b"] * 60)
    strata = with_domains(class_table(labels, 2), domains)
    part = divide(strata, np.array([""] * 80), (0.5, 0.5), np.random.default_rng(0))
    for domain, each in (("a", 5), ("b", 15)):
        for label in (0, 1):
            assert (part[(domains == domain) & (labels == label)] == 0).sum() == each


def test_a_kept_fraction_loses_no_class():
    labels = np.repeat([0, 1], [100, 1])
    groups = np.array(["x"] * 100 + ["y"])
    kept = keep_fraction(class_table(labels, 2), groups, 0.01, np.random.default_rng(0))
    assert kept[100]


# ---------------------------------------------------------------- groups that a dataset shares


@pytest.fixture
def slides(make_table):
    """Camelyon17's shape: two slides train and validate, one selects, one is tested on."""
    return make_table(
        [0, 1] * 12,
        splits=["train", "train", "id_val", "id_val"] * 3 + ["val"] * 6 + ["test"] * 6,
        domains=["a"] * 8 + ["b"] * 4 + ["c"] * 6 + ["d"] * 6,
        groups=["s1"] * 4 + ["s2"] * 4 + ["s3"] * 4 + ["s4"] * 6 + ["s5"] * 6,
        shared_groups=(("train", "id_val"),),
    )


def test_the_declared_pair_may_share_groups_and_a_note_says_that_scores_are_optimistic(slides):
    rows, notes = make_splits(slides, config())
    assert {name: len(r) for name, r in rows.items()} == {
        "train": 6,
        "id_val": 6,
        "val": 6,
        "test": 6,
    }
    (note,) = notes
    assert "3 groups are in train and id_val" in note
    assert "optimistic" in note


@pytest.mark.parametrize("declared", [(), (("train", "val"),), (("test", "id_val"),)])
def test_another_pair_than_the_declared_one_is_an_error(slides, declared):
    with pytest.raises(InputError, match=r"group 's1' is in train and id_val.*3 such groups"):
        make_splits(replace(slides, shared_groups=declared), config())


def test_a_domain_that_never_trains_is_not_called_seen_when_another_is_held_out(slides):
    rows, notes = make_splits(slides, config(held_out=["b"], held_out_rows="all"))
    domains = {name: set(slides.domains[r].tolist()) for name, r in rows.items()}
    assert domains == {"train": {"a"}, "id_val": {"a"}, "val": {"c"}, "test": {"b"}}
    assert any("6 test rows of d left out" in note for note in notes)


def test_without_own_splits_the_whole_held_out_domain_is_tested_on(make_table):
    table = make_table([0, 1] * 30, domains=["a", "b", "c"] * 20)
    rows, _ = make_splits(table, config(held_out=["b"]))
    assert set(rows) == {"train", "id_val", "id_test", "test"}
    assert np.array_equal(rows["test"], np.flatnonzero(table.domains == "b"))
    for name in ("train", "id_val", "id_test"):
        assert set(table.domains[rows[name]]) == {"a", "c"}


def test_test_fraction_zero_makes_no_test_split(make_table):
    rows, notes = make_splits(make_table([0, 1] * 10), config(test_fraction=0))
    assert set(rows) == {"train", "val"}
    assert notes == ()


def test_the_split_seed_alone_decides(make_table):
    table = make_table([0, 1] * 30)
    first, again = (make_splits(table, config(split_seed=1)).rows for _ in range(2))
    other = make_splits(table, config(split_seed=2)).rows
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["train"], other["train"])
