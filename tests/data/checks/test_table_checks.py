"""Checks of a table: what is an error, what is a note, and exact statistics."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.data import check_table, count_rows, list_bad_files, stats, validate_table
from medldr.data.checks.table_checks import _BLOCK_BYTES, look_at
from medldr.data.image_table import Looks
from medldr.datasets.base import BadFile, LazyImages
from medldr.errors import InputError


def test_a_sound_table_has_no_notes(make_table):
    table = make_table([0, 1, 2, 0])
    validate_table(table)
    assert check_table(table) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: {"images": t.images / 255}, r"toy: images are float64 .* expected uint8"),
        (lambda t: {"images": t.images[:, 0]}, r"toy: images are uint8 with shape \(4, 4, 4\)"),
        (lambda t: {"labels": t.labels[:3]}, r"toy: labels has 3 rows, but there are 4 ids"),
        (lambda t: {"labels": t.labels + 1}, r"toy: the label of item_2 is 3, .* 0 to 2"),
        (lambda t: {"labels": t.labels - 1}, r"toy: the label of item_0 is -1"),
        (lambda t: {"labels": t.labels * 1.0}, r"toy: labels are float64 .* integers"),
        (lambda t: {"ids": t.ids[[0, 0, 1, 2]]}, r"id 'item_0' occurs more than once"),
        (lambda t: {"splits": np.array(["train", "x", "", ""])}, r"split 'x' is not one of train"),
        (lambda t: {"task": "regression"}, r"task 'regression' is not one of"),
        (lambda t: {"task": "multi-label"}, r"multi-label labels must be \(N, 3\)"),
    ],
)
def test_a_broken_table_is_an_error_that_names_it(make_table, change, message):
    table = make_table([0, 1, 2, 0])
    with pytest.raises(InputError, match=message):
        validate_table(replace(table, **change(table)))


def test_multi_label_values_are_0_1_or_missing(make_table):
    validate_table(make_table([[0, 1], [np.nan, 1]]))
    with pytest.raises(InputError, match=r"label of item_1 is .*0, 1 or NaN"):
        validate_table(make_table([[0, 1], [2, 1]]))


def test_constant_images_are_listed_within_their_split(make_table):
    table = make_table([0] * 30, splits=["train"] * 10 + ["test"] * 20)
    table.images[[2, *range(12, 29)]] = 7
    assert check_table(table) == [
        "toy: 1 constant train image: 2",
        "toy: 17 constant test images: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...",
    ]


def test_equal_images_in_two_splits_are_counted_and_named(make_table):
    table = make_table([0] * 8, splits=["train"] * 4 + ["val"] * 2 + ["test"] * 2)
    table.images[5] = table.images[0]
    table.images[7] = table.images[0]
    table.images[3] = table.images[2]  # within one split: no leak
    (note,) = check_table(table)
    assert "2 image(s)" in note
    assert "item_0 = item_5; item_0 = item_7" in note


def test_large_tables_are_read_in_blocks(make_table, monkeypatch):
    monkeypatch.setattr("medldr.data.checks.table_checks._BLOCK_BYTES", 40)
    table = make_table([0] * 9, splits=["train"] * 6 + ["test"] * 3)
    table.images[8] = 0
    table.images[7] = table.images[1]
    notes = check_table(table)
    assert notes[0] == "toy: 1 constant test image: 2"
    assert "item_1 = item_7" in notes[1]
    assert _BLOCK_BYTES >= 1 << 20


def test_rows_are_counted_per_split_domain_and_class(make_table):
    table = make_table(
        [0, 1, 1, 0, 1],
        splits=["train", "train", "train", "test", "test"],
        domains=["x", "y", "y", "x", "x"],
        groups=["p", "q", "q", "r", "s"],
    )
    assert count_rows(table) == [
        {"split": "train", "domain": "x", "rows": 1, "groups": 1, "classes": {"a": 1, "b": 0}},
        {"split": "train", "domain": "y", "rows": 2, "groups": 1, "classes": {"a": 0, "b": 2}},
        {"split": "test", "domain": "x", "rows": 2, "groups": 2, "classes": {"a": 1, "b": 1}},
    ]


def test_multi_label_counts_are_positives_per_label_and_not_values(make_table):
    table = make_table([[1, 0], [1, np.nan], [0, 0]])
    assert count_rows(table)[0]["classes"] == {"a": 2, "b": 0}


def test_statistics_are_exact_and_of_training_rows_only(make_table):
    table = make_table([0, 1] * 5, splits=["train"] * 6 + ["test"] * 4)
    table.images[6:] = 255
    found = stats(table)
    pixels = table.images[:6].astype(np.float64) / 255
    assert found["rows"] == 6
    assert found["mean"] == pytest.approx([pixels.mean()], abs=1e-12)
    assert found["std"] == pytest.approx([pixels.std()], abs=1e-12)
    assert (found["min"], found["max"]) == (table.images[:6].min(), table.images[:6].max())


class Shelf(LazyImages):
    """An array that remembers which rows it was asked for."""

    def __init__(self, images):
        self.images, self.shape, self.stamp, self.asked = images, images.shape, "", []

    def __getitem__(self, rows):
        self.asked += np.arange(len(self))[rows].tolist()
        return self.images[rows]


def test_lazy_images_are_checked_as_an_array_is(make_table, monkeypatch):
    monkeypatch.setattr("medldr.data.checks.table_checks._PIECE_BYTES", 40)
    table = make_table([0] * 9, splits=["train"] * 6 + ["test"] * 3)
    table.images[[0, 8]] = 0
    table.images[7] = table.images[1]
    expected = check_table(table)
    assert len(expected) == 3
    shelf = Shelf(table.images)
    assert check_table(replace(table, images=shelf)) == expected
    assert sorted(shelf.asked) == list(range(9))


def test_images_that_were_looked_at_before_are_not_read_again(make_table):
    table = make_table([0] * 9, splits=["train"] * 6 + ["test"] * 3)
    table.images[[0, 8]] = 0
    table.images[7] = table.images[1]
    known = dict(zip(table.ids.tolist(), look_at(table.images), strict=True))
    del known["item_7"], known["item_2"]
    shelf = Shelf(table.images)
    found = check_table(replace(table, images=shelf), known)
    # Looked at one by one, so by name; else by number within the split.
    assert found[:2] == [
        "toy: 1 constant train image: item_0",
        "toy: 1 constant test image: item_8",
    ]
    assert found[2:] == check_table(table)[2:]
    assert sorted(shelf.asked) == [2, 7]


def test_looks_of_a_table_are_taken_and_no_image_is_read(make_table):
    table = make_table([0] * 9, splits=["train"] * 6 + ["test"] * 3)
    table.images[7] = table.images[1]
    by_id = dict(zip(table.ids.tolist(), look_at(table.images), strict=True))
    shelf = Shelf(table.images)
    looks = Looks(by_id, ("toy: said when they were read",))
    found = check_table(replace(table, images=shelf, looks=looks))
    assert found == ["toy: said when they were read", *check_table(table)]
    assert shelf.asked == []


def test_statistics_of_lazy_images_are_those_of_an_array(make_table, monkeypatch):
    monkeypatch.setattr("medldr.data.checks.table_checks._PIECE_BYTES", 40)
    table = make_table([0, 1] * 5, splits=["train"] * 6 + ["test"] * 4)
    shelf = Shelf(table.images)
    assert stats(replace(table, images=shelf)) == stats(table)
    assert sorted(shelf.asked) == list(range(6))


def test_files_that_were_left_out_are_a_table_of_paths_and_reasons(make_table):
    table = make_table([0, 1], bad_files=(BadFile("a, b/c.png", "it is cut off"),))
    assert list_bad_files(table) == 'path,reason\n"a, b/c.png",it is cut off\n'
    run_by_spreadsheets = make_table([0, 1], bad_files=(BadFile("=1+1.png", "@SUM(A1)"),))
    assert list_bad_files(run_by_spreadsheets) == "path,reason\n'=1+1.png,'@SUM(A1)\n"
