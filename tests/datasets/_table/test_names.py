"""Names that look alike: one, or refused; and the words for splits."""

import pytest

from medldr.data.splits.crossing import crossing_groups
from medldr.datasets._table.groups import read_groups
from medldr.datasets._table.names import join_groups, refuse_look_alikes
from medldr.datasets._table.split_words import read_splits, split_of
from medldr.errors import InputError
from medldr.types import SPLITS


def test_a_patient_is_one_however_the_name_is_spelled():
    texts = ["P23", "p23 ", "P7", "Mu\u0308ller", "m\u00fcller", "01", "1", "1e3", "1000", ""]
    joined, notes = join_groups(texts)
    assert joined == [
        "P23",
        "P23",
        "P7",
        "M\u00fcller",
        "M\u00fcller",
        "01",
        "1",
        "1e3",
        "1000",
        "",
    ]
    assert notes == (
        "2 groups are written in several ways (capital letters, blanks); each counts as one",
    )
    assert "P23" not in notes[0]


def test_a_patient_in_two_spellings_is_still_found_in_two_splits(make_crossing):
    joined, _ = join_groups(["P23", "p23 "])
    with pytest.raises(InputError, match="'P23' is in train and test"):
        crossing_groups(*make_crossing(joined, ["train", "test"]))


@pytest.fixture
def make_crossing():
    import numpy as np

    from medldr.data.image_table import ImageTable

    def make(groups, splits):
        count = len(groups)
        text = np.array([""] * count)
        images = np.zeros((count, 1, 8, 8), np.uint8)
        labels = np.zeros(count, np.int64)
        ids, domains, split = np.array(list("ab")), text, np.array(splits)
        table = ImageTable(
            "t", "multi-class", ("a",), images, labels, ids, split, domains, np.array(groups)
        )
        return table, split

    return make


@pytest.mark.parametrize(
    "pair", [("Real World", "real-world"), ("Ä b", "äb"), ("tumor_", "Tumor"), ("ss", "ß")]
)
def test_names_that_differ_only_in_spelling_are_refused(rows, pair):
    with pytest.raises(
        InputError, match=r"in line \d .* in line \d .*would be two domains"
    ) as caught:
        refuse_look_alikes(rows(["", ""]), pair, "domain")
    assert all(repr(name) in str(caught.value) for name in pair)


@pytest.mark.parametrize(
    "pair", [("01", "1"), ("1-2", "12"), ("-1", "1"), ("ER-", "ER"), ("", "a")]
)
def test_names_that_mean_something_else_are_two(rows, pair):
    refuse_look_alikes(rows(["", ""]), pair, "domain")


# ---------------------------------------------------------------- splits


@pytest.mark.parametrize(
    ("split", "words"),
    [
        ("train", "train Training TR"),
        ("val", "val valid VALIDATION dev tune"),
        ("test", "test testing ts HoldOut"),
        ("id_val", "id_val ID-Val"),
        ("id_test", "id_test"),
    ],
)
def test_words_for_splits(split, words):
    assert {split_of(word) for word in words.split()} == {split}
    assert split in SPLITS


def test_splits_of_rows(rows):
    assert read_splits(rows("ab", splits=["Train", "dev"])) == ["train", "val"]
    assert read_splits(rows("ab", splits=["", ""])) == ["", ""]
    assert read_splits(rows("ab")) == ["", ""]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", ""], r"1 of 2 rows are in no split, the others are: line 3 \(1.png\)"),
        (["train", "tset"], r"line 3 .*'tset', which is none of train, .*Unknown: 'tset'"),
        (["0", "1"], "column of folds .*medldr data split"),
        (["fold_1", "fold2"], "column of folds"),
        (["train", "1"], "column of folds"),
    ],
)
def test_unclear_splits_are_refused(rows, words, said):
    with pytest.raises(InputError, match=said):
        read_splits(rows("ab", splits=words))


# ---------------------------------------------------------------- groups


def test_groups_come_from_a_column_or_the_path(rows):
    paths = ["a/P1_0.png", "b/p1_1.png"]
    found, notes = read_groups(rows("ab"), paths, ["x", "y"], r"([Pp]\d+)_", "all")
    assert found == ["P1", "P1"]
    assert len(notes) == 1
    found, _ = read_groups(rows("ab"), paths, ["x", "y"], r"([Pp]\d+)_", "domain")
    assert found == ["x/P1", "y/P1"]
    assert read_groups(rows("ab"), paths, ["", ""], None, "all") == (["", ""], ())
    found, notes = read_groups(rows("ab", groups=["P1", ""]), paths, ["x", "y"], None, "domain")
    assert found == ["x/P1", ""]
    assert notes == ("1 of 2 rows have no group: each counts as a group of its own",)


def test_paths_without_a_group_and_groups_named_twice_are_refused(rows):
    with pytest.raises(InputError, match=r"no group in 1 of 2 paths: line 3 \(1.png\)"):
        read_groups(rows("ab"), ["P1.png", "x.png"], ["", ""], "(P1)", "all")
    with pytest.raises(InputError, match="a column or folder names it already"):
        read_groups(rows("ab", groups=["", ""]), ["a", "b"], ["", ""], "(P1)", "all")
