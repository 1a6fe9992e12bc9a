"""DomainBed's split gives the published seeds and orders, and refuses what it would spoil."""

import hashlib
import random

import numpy as np
import pytest

from medldr.data.splits.domainbed import held_back, seed_of, shuffled
from medldr.data.splits.make import make_splits
from medldr.data.splits.target_parts import target_parts
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError


def config(**keys):
    values = {"split_rule": "domainbed", "val_fraction": 0.2, "held_out": ["b"], **keys}
    return DatasetConfig(name="toy", **values)


@pytest.fixture
def table(make_table):
    """Four domains of 10, 7, 20 and 11 rows, mixed up in the table."""
    names = [name for name, rows in zip("abcd", (10, 7, 20, 11), strict=True) for _ in range(rows)]
    random.Random(3).shuffle(names)
    return make_table([0, 1] * 24, domains=names)


@pytest.mark.parametrize(
    ("trial", "domain", "seed"),
    [
        (0, 0, 894182419),
        (0, 1, 1514274641),
        (0, 2, 1325548499),
        (0, 3, 1796103049),
        (0, 4, 1773288162),
        (0, 5, 1833038383),
        (1, 0, 785910682),
        (1, 1, 1442673865),
        (2, 0, 472130416),
    ],
)
def test_a_trial_and_a_domain_have_the_published_seed(trial, domain, seed):
    assert seed_of(trial, domain) == seed


def test_the_seed_of_a_whole_sweep_member_is_the_published_one():
    assert seed_of("PACS", "ERM", [0], 0, 0) == 94828300


def test_ten_rows_stand_in_the_published_order():
    assert shuffled(10, 0, 0) == [2, 3, 8, 1, 4, 5, 0, 9, 6, 7]
    assert shuffled(10, 1, 0) == [3, 7, 9, 0, 5, 4, 2, 8, 6, 1]


def test_art_painting_of_pacs_is_divided_as_published():
    order = shuffled(2048, 0, 0)
    out, rest = order[: int(0.2 * 2048)], order[int(0.2 * 2048) :]
    assert out[:6] == [548, 677, 1997, 977, 1553, 1123]
    assert rest[:5] == [895, 510, 1575, 933, 362]
    assert (len(out), len(rest)) == (409, 1639)


def test_ten_rows_of_the_first_domain_give_the_published_out_part(make_table):
    table = make_table([0, 1, 1, 0] * 5, domains=["a", "b"] * 10)
    held = config(held_out=["b"])
    rows, _ = make_splits(table, held)
    # Row 2n of the table is row n of domain a; of its ten rows, 2 and 3 are out.
    assert rows["id_val"].tolist() == [4, 6]
    assert held_back(table, np.arange(20)[table.domains == "a"], held).tolist() == [4, 6]


@pytest.mark.parametrize("trial", [0, 1, 2])
@pytest.mark.parametrize("held_out", [["b"], ["a", "d"]])
def test_every_domain_is_divided_by_its_place_among_all(table, trial, held_out):
    held = config(split_seed=trial, held_out=held_out)
    rows, _ = make_splits(table, held)
    parts = target_parts(table, rows["test"], held)
    assert set(rows) == {"train", "id_val", "test"}
    for place, name in enumerate("abcd"):
        text = f"({trial}, {place})".encode()
        generator = np.random.RandomState(int(hashlib.md5(text).hexdigest(), 16) % 2**31)
        numbers = np.flatnonzero(table.domains == name).tolist()
        generator.shuffle(numbers)
        out = sorted(numbers[: int(0.2 * len(numbers))])
        rest = sorted(numbers[int(0.2 * len(numbers)) :])
        inner, outer = (
            (parts["target_in"], parts["target_out"])
            if name in held_out
            else (rows["train"], rows["id_val"])
        )
        assert inner[table.domains[inner] == name].tolist() == rest
        assert outer[table.domains[outer] == name].tolist() == out
    assert rows["test"].tolist() == np.flatnonzero(np.isin(table.domains, held_out)).tolist()


def test_rows_that_are_left_out_count_nowhere_and_a_domain_keeps_its_place(table):
    a = table.ids[table.domains == "a"].tolist()
    rows, _ = make_splits(table, config(exclude=a, held_out=["c"]))
    whole, _ = make_splits(table, config(held_out=["c"]))
    of_d = [part["id_val"][table.domains[part["id_val"]] == "d"].tolist() for part in (rows, whole)]
    assert of_d[0] == of_d[1]
    fewer, _ = make_splits(table, config(exclude=table.ids[table.domains == "d"][:1].tolist()))
    numbers = np.flatnonzero(table.domains == "d")[1:].tolist()
    np.random.RandomState(seed_of(0, 3)).shuffle(numbers)
    out = fewer["id_val"][table.domains[fewer["id_val"]] == "d"]
    assert out.tolist() == sorted(numbers[:2])


def test_the_rule_and_an_unusual_part_are_noted(table):
    _, notes = make_splits(table, config(split_seed=2))
    assert len(notes) == 1
    assert "DomainBed's split, trial 2: 20% of each domain's rows held back" in notes[0]
    _, notes = make_splits(table, config(val_fraction=0.15))
    assert "data.val_fraction is 0.15; published numbers" in notes[1]


def test_a_domain_too_small_to_hold_rows_back_is_noted(make_table):
    table = make_table([0, 1] * 12, domains=["a"] * 10 + ["b"] * 10 + ["c"] * 4)
    rows, notes = make_splits(table, config())
    assert "c" not in table.domains[rows["id_val"]]
    assert notes[1].endswith("exclude: c.")


def test_a_part_of_the_training_rows_is_taken_from_the_in_parts(table):
    some, _ = make_splits(table, config(train_fraction=0.5))
    whole, _ = make_splits(table, config())
    assert set(some["train"]) < set(whole["train"])
    assert some["id_val"].tolist() == whole["id_val"].tolist()


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"held_out": []}, r"none is held out\. Set data\.held_out to one or more of: a, b, c, d"),
        ({"held_out": ["bb"]}, r"no domain 'bb'.*Did you mean 'b'"),
        ({"held_out": list("abcd")}, "every domain of toy is held out"),
        ({"held_out_rows": "test"}, r"conflicts with data\.held_out_rows: test"),
    ],
)
def test_keys_that_do_not_go_with_the_rule_are_named(table, keys, said):
    with pytest.raises(InputError, match=said):
        make_splits(table, config(**keys))


def test_data_that_does_not_go_with_the_rule_is_named(make_table, table):
    own = make_table([0, 1] * 2, domains=["a", "b"] * 2, splits=["train", "test"] * 2)
    with pytest.raises(InputError, match=r"toy, which has its own splits\. Remove the key"):
        make_splits(own, config())
    with pytest.raises(InputError, match=r"toy has none\. Set data\.split_rule: stratified"):
        make_splits(make_table([0, 1]), config(held_out=[]))
    nameless = make_table([0, 1, 0, 1], domains=["a", "b", "", "a"])
    with pytest.raises(InputError, match=r"'item_2' of toy has no domain"):
        make_splits(nameless, config())


def test_groups_that_would_be_torn_apart_are_refused_with_the_cure(make_table):
    patients = [f"p{n // 4}" for n in range(40)]
    table = make_table([0, 1] * 20, domains=["a"] * 20 + ["b"] * 20, groups=patients)
    with pytest.raises(InputError, match=r"'p1' of domain 'a'.*Set data\.split_rule: stratified"):
        make_splits(table, config())
    alone = make_table([0, 1] * 20, domains=["a"] * 20 + ["b"] * 20, groups=range(40))
    assert len(make_splits(alone, config()).rows["id_val"]) == 4


def test_a_group_torn_apart_within_the_held_out_domain_is_refused_too(make_table):
    patients = [""] * 20 + ["P1", "p1 "] * 10
    table = make_table([0, 1] * 20, domains=["a"] * 20 + ["b"] * 20, groups=patients)
    with pytest.raises(InputError, match=r"(?i)group of toy, 'p1 ?' of domain 'b'"):
        make_splits(table, config())
