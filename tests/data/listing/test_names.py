"""Names that look alike: one, or two; and the words for splits."""

import pytest

from medldr.data.listing.names import groups_by_pattern, join_groups, look_alikes, split_of
from medldr.errors import InputError
from medldr.types import SPLITS


def test_a_patient_is_one_however_the_name_is_spelled():
    texts = ["P23", "p23 ", "P7", "Mu\u0308ller", "m\u00fcller", "01", "1", "1e3", "1000", ""]
    joined, notes = join_groups(texts)
    assert joined == [
        *("P23", "P23", "P7", "M\u00fcller", "M\u00fcller", "01", "1", "1e3", "1000", ""),
    ]
    assert notes == (
        "2 groups are written in several ways (capital letters, blanks); each counts as one",
    )
    assert "P23" not in notes[0]


@pytest.mark.parametrize(
    "pair", [("Real World", "real-world"), ("Ä b", "äb"), ("tumor_", "Tumor"), ("ss", "ß")]
)
def test_names_that_differ_only_in_spelling_look_alike(pair):
    assert set(look_alikes(["other", *pair]) or ()) == set(pair)


@pytest.mark.parametrize(
    "pair", [("01", "1"), ("1-2", "12"), ("-1", "1"), ("ER-", "ER"), ("x", "a")]
)
def test_names_that_mean_something_else_are_two(pair):
    assert look_alikes(pair) is None


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ("train", "train Training TR"),
        ("val", "val valid VALIDATION dev tune"),
        ("test", "test testing ts"),
        ("id_val", "id_val ID-Val"),
        ("id_test", "id_test"),
    ],
)
def test_words_for_splits(split, words):
    assert {split_of(word) for word in words.split()} == {split}
    assert split in SPLITS


def test_paths_without_a_group_are_counted():
    assert groups_by_pattern("(P[0-9])", ["aP1", "P2b"], "", ["", ""], "") == ["P1", "P2"]
    with pytest.raises(InputError, match=r"here: data.group_pattern '\(P1\)' .*1 of 2 paths: x"):
        groups_by_pattern("(P1)", ["P1.png", "x.png"], "here", ["P1", "x"], "")
