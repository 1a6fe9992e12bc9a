"""Long-tailed training rows: published sizes, the published choice, whole groups."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.splits.long_tail import (
    choose,
    most_of_largest,
    order_of,
    shares_of,
    sizes,
    units_of,
)

# Totals and smallest classes as published for CIFAR: set, factor, total, smallest.
PUBLISHED = [
    (100, 100, 10_847, 5),
    (100, 200, 9_502, 2),
    (100, 50, 12_608, 10),
    (100, 10, 19_573, 50),
    (10, 100, 12_406, 50),
    (10, 200, 11_203, 25),
    (10, 50, 13_996, 100),
    (10, 10, 20_431, 500),
]


def published_choice(labels, counts, seed=0):
    """The choice of rows as the published code makes it, with NumPy's global generator."""
    state = np.random.get_state()  # noqa: NPY002  # what is compared with is defined by it
    np.random.seed(seed)  # noqa: NPY002
    found = []
    for label, count in enumerate(counts):
        rows = np.where(labels == label)[0]
        np.random.shuffle(rows)  # noqa: NPY002
        found.append(rows[:count])
    np.random.set_state(state)  # noqa: NPY002
    return found


def chosen(labels, groups=None, *, factor, kind="exp", order="label", largest=None, seed=0):
    labels = np.asarray(labels)
    groups = np.full(len(labels), "") if groups is None else np.asarray(groups, dtype=np.str_)
    asked = shares_of(np.bincount(labels), factor, kind, order, largest)
    return asked, choose(labels, units_of(groups), asked, seed)


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("factor", "many", "medium", "few"), [(100, 35, 35, 30), (200, 30, 31, 39), (50, 41, 41, 18),
                                          (10, 69, 31, 0)],
)  # fmt: skip
def test_classes_with_many_medium_and_few_rows_are_as_published(factor, many, medium, few):
    found = np.array(sizes(500, 100, factor, "exp"))
    counts = (found > 100).sum(), ((found >= 20) & (found <= 100)).sum(), (found < 20).sum()
    assert counts == (many, medium, few)


def test_sizes_are_truncated_and_not_rounded():
    # Rounded, some of these would be other numbers.
    for factor in (10, 50, 100, 200):
        found = sizes(500, 100, factor, "exp")
        exact = [500 * (1 / factor) ** (i / 99) for i in range(100)]
        assert found == [int(value) for value in exact]
        assert found != [round(value) for value in exact]


def test_sizes_are_products_in_float64_as_published_not_quotients():
    assert 98 * (1 / 49) < 98 / 49 == 2
    assert sizes(98, 2, 49, "step") == sizes(98, 2, 49, "exp") == [98, 1]


@given(
    st.lists(st.integers(1, 5000), min_size=2, max_size=12),
    st.floats(1, 300),
    st.sampled_from(["exp", "step"]),
)
@settings(max_examples=25, deadline=None)
def test_the_largest_class_is_as_large_as_the_others_allow(available, factor, kind):
    most = most_of_largest(available, factor, kind)
    assert all(
        a >= b for a, b in zip(available, sizes(most, len(available), factor, kind), strict=True)
    )
    more = sizes(most + 1, len(available), factor, kind)
    assert any(a < b for a, b in zip(available, more, strict=True))


def test_classes_without_rows_are_left_out_and_ties_keep_the_order_of_labels():
    assert order_of(np.array([3, 3, 0, 9]), "count").tolist() == [3, 0, 1]
    assert order_of(np.array([3, 3, 0, 9]), "label").tolist() == [0, 1, 3]


# ---------------------------------------------------------------- which rows


@pytest.mark.parametrize("seed", [0, 7])
@pytest.mark.parametrize("kind", ["exp", "step"])
def test_rows_are_those_of_the_published_code(kind, seed):
    labels = np.random.default_rng(3).permutation(np.repeat(np.arange(10), 200))
    asked, found = chosen(labels, factor=20, kind=kind, seed=seed)
    rows = published_choice(labels, sizes(200, 10, 20, kind), seed)
    assert np.flatnonzero(found.kept).tolist() == sorted(np.concatenate(rows).tolist())
    assert found.lacking == ()
    assert [share.label for share in asked] == list(range(10))


def test_the_rows_of_a_hundred_classes_are_these_with_any_numpy():
    # Of 500 rows a class in turn; rows and their hash from the published code's own loop.
    _, found = chosen(np.tile(np.arange(100), 500), factor=100)
    rows = np.flatnonzero(found.kept)
    assert len(rows) == 10_847
    assert hashlib.sha256(rows.astype("<i8").tobytes()).hexdigest() == (
        "82ee4efff55d0e5c845fc9869793a19315e65f4c4534baaaa0346129b729d01b"
    )


def test_the_seed_alone_decides_and_the_global_generator_is_not_touched():
    labels = np.repeat([0, 1], 50)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first = chosen(labels, factor=5)[1].kept
    assert np.array_equal(chosen(labels, factor=5)[1].kept, first)
    assert not np.array_equal(chosen(labels, factor=5, seed=1)[1].kept, first)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_groups_of_single_rows_change_nothing():
    labels = np.random.default_rng(0).integers(0, 4, 300)
    alone = [f"patient {n}" for n in range(300)]
    plain = chosen(labels, factor=6, order="count")[1].kept
    assert np.array_equal(chosen(labels, alone, factor=6, order="count")[1].kept, plain)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.floats(1, 30))
@settings(max_examples=25, deadline=None)
def test_no_group_is_divided_and_no_class_has_more_than_asked(seed, most, factor):
    generator = np.random.default_rng(seed)
    groups = np.repeat([f"p{n}" for n in range(150)], generator.integers(1, most + 1, 150))
    labels = generator.integers(0, 3, len(groups))
    labels[:3] = [0, 1, 2]
    asked, found = chosen(labels, groups, factor=factor, order="count", seed=seed)
    for name in set(groups.tolist()):
        assert len(set(found.kept[groups == name].tolist())) == 1
    got = np.bincount(labels[found.kept], minlength=3)
    assert all(got[share.label] <= share.asked for share in asked)


def test_a_class_may_lack_less_than_a_group():
    # Class 1 has groups of three rows, of which one fits into the five that are asked.
    labels = np.array([0] * 40 + [1] * 12)
    groups = np.array([""] * 40 + [f"p{n // 3}" for n in range(12)])
    asked, found = chosen(labels, groups, factor=8)
    assert [share.asked for share in asked] == [40, 5]
    assert np.bincount(labels[found.kept]).tolist() == [40, 3]
    assert found.lacking == ()


def test_a_class_that_only_occurs_with_another_is_lacking():
    # Every patient has as many rows of both classes, so neither can be rarer.
    labels = np.array([0, 1] * 60)
    groups = np.repeat([f"p{n}" for n in range(30)], 4)
    assert chosen(labels, groups, factor=6)[1].lacking == (0,)


def test_sizes_that_are_published_one_by_one():
    found = sizes(500, 100, 100, "exp")
    assert found[:3] == [500, 477, 455]
    assert found[49:51] == [51, 48]
    assert sizes(5000, 10, 100, "exp") == [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50]
