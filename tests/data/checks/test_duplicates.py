"""Equal images: leaks, contradictions and repetitions are told apart."""

import numpy as np
import pytest

from medldr.data import check_table


def equal(table, *pairs):
    for one, other in pairs:
        table.images[other] = table.images[one]
    return check_table(table)


def test_a_leak_between_domains_and_a_contradiction_are_two_notes(make_table):
    table = make_table([0, 1, 1, 0, 1, 2], domains=list("xxxyyy"))
    leak, doubt = equal(table, (0, 3), (1, 4), (2, 5))
    assert leak.startswith("toy: 3 images are in more than one domain, a leak")
    assert "item_0 = item_3; item_1 = item_4; item_2 = item_5" in leak
    assert doubt.startswith("toy: 1 image is there with contradicting labels")
    assert "item_2 (b) = item_5 (c)" in doubt


def test_a_repetition_is_told_where_splits_are_still_to_be_made(make_table):
    (note,) = equal(make_table([0] * 4), (0, 2))
    assert "1 image is there more than once in one class of one domain" in note
    assert equal(make_table([0] * 4, splits=["train"] * 4), (0, 2)) == []


@pytest.mark.parametrize(("groups", "count"), [("ppqq", 1), ("pqpq", 0), ([""] * 4, 1)])
def test_a_repetition_within_a_group_is_never_divided(make_table, groups, count):
    assert len(equal(make_table([0] * 4, groups=list(groups)), (0, 2))) == count


def test_several_labels_contradict_where_one_does_and_unknown_equals_unknown(make_table):
    table = make_table([[0, 1], [np.nan, 1], [np.nan, 1], [0, 1], [1, 1]], splits=["train"] * 5)
    (note,) = equal(table, (0, 4), (1, 2))
    assert "1 image is there with contradicting labels" in note
    assert "item_0 (b) = item_4 (a, b)" in note


def test_few_examples_are_given(make_table):
    table = make_table([0] * 20, domains=["x"] * 10 + ["y"] * 10)
    (note,) = equal(table, *((n, n + 10) for n in range(10)))
    assert note.startswith("toy: 10 images are in more than one domain")
    assert note.count(" = ") == 3
    assert note.endswith("; ...)")
