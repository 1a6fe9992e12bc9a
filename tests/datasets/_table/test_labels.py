"""Texts as classes: names are kept, labels count from 0, and nothing is a class by accident."""

import numpy as np
import pytest

from medldr.datasets._table.labels import many_labels, single_labels
from medldr.errors import InputError


def made(rows, texts, classes=None):
    found = single_labels(rows(texts), classes)
    assert found.labels.dtype == np.int64
    return found.class_names, found.labels.tolist()


@pytest.mark.parametrize(
    ("texts", "names", "labels"),
    [
        (["1", "2", "3"], ("1", "2", "3"), [0, 1, 2]),
        (["0.0", "1.0", "2.0", "1"], ("0", "1", "2"), [0, 1, 2, 1]),
        (["10", "2", "5", "2"], ("2", "5", "10"), [2, 0, 1, 0]),
        (["01", "1", "10"], ("01", "1", "10"), [0, 1, 2]),
        (["1000", "1e3"], ("1000", "1e3"), [0, 1]),
        (["007", "12"], ("007", "12"), [0, 1]),
        (["b", "a", "B1", "b"], ("B1", "a", "b"), [2, 1, 0, 2]),
        (["NA", "nan", "None"], ("NA", "None", "nan"), [0, 2, 1]),
        (["1", "x"], ("1", "x"), [0, 1]),
        (["O\u0308dem", "\u00d6dem", "a"], ("a", "\u00d6dem"), [1, 1, 0]),
        (["1-2", "12", "1"], ("1", "1-2", "12"), [1, 2, 0]),
        (["HER2-", "HER2"], ("HER2", "HER2-"), [1, 0]),
    ],
)
def test_classes_are_named_by_their_text_and_ordered(rows, texts, names, labels):
    assert made(rows, texts) == (names, labels)


def test_one_name_in_two_forms_is_noted(rows):
    found = single_labels(
        rows(["O\u0308dem", "\u00d6dem", "\u00d6dem", "grade  2", "grade 2"]), None
    )
    assert found.class_names == ("grade 2", "\u00d6dem")
    assert [note.partition(" is written in 2 ways")[0] for note in found.notes] == [
        "class 'grade 2'",
        "class '\u00d6dem'",
    ]
    assert "1 of 3 rows have the rarer ones" in found.notes[1]
    assert r"'O\u0308dem', '\xd6dem'" in found.notes[1]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["0", "0.5"], r"line 3 \(1.png\) has '0.5' .*not a whole number.*here 0"),
        (["0", "1e-1"], "line 3 .*'1e-1'"),
        (["0", "1", "-1"], "line 4 .*'-1'.*below zero.*empty the cell.*here 0, 1"),
        (["Tumor", "x", "tumor"], r"'Tumor' in line 2 .*'tumor' in line 4 .*two classes"),
        (["grade 1", "grade-1"], "'grade 1' in line 2.*'grade-1' in line 3"),
        ([f"{n}.25" for n in range(30)], "30 different values in 30 rows.*id or a measurement"),
        ([str(n) for n in range(30)], "30 different values in 30 rows"),
    ],
)
def test_what_is_hardly_a_class_is_refused(rows, texts, said):
    with pytest.raises(InputError, match=f"(?s)^data.file: t.csv: .*{said}"):
        single_labels(rows(texts), None)


def test_a_few_classes_in_as_many_rows_are_classes(rows):
    assert made(rows, list("abc"))[0] == ("a", "b", "c")


def test_a_list_of_classes_orders_them_and_admits_no_other(rows):
    assert made(rows, ["a", "b"], ("b", "c", "a")) == (("b", "c", "a"), [2, 0])
    assert single_labels(rows(["a"]), ("b", "a", "c")).notes == (
        "no row is of the class b, c (data.classes)",
    )
    assert made(rows, ["1.0", "0"], ("1", "0")) == (("1", "0"), [0, 1])
    assert made(rows, ["-1", "1"], ("-1", "1")) == (("-1", "1"), [0, 1])
    assert made(rows, ["0.5", "1"], ("1", "0.5")) == (("1", "0.5"), [1, 0])
    names = [str(n) for n in range(30)]
    assert made(rows, names, tuple(names))[1] == list(range(30))
    with pytest.raises(InputError, match=r"line 3 .*'bening'.*Did you mean 'benign'\?"):
        single_labels(rows(["benign", "bening"]), ("benign", "malignant"))
    with pytest.raises(InputError, match=r"data\.classes needs different names"):
        single_labels(rows(["a"]), ("a", "a "))


@pytest.mark.parametrize("odd", ["nan", "inf", "-Infinity"])
def test_no_number_among_numbers_is_refused_and_never_a_class(rows, odd):
    with pytest.raises(InputError, match="among its numbers"):
        single_labels(rows(["0", "1", odd]), None)
    assert single_labels(rows(["0", "1", odd]), ("0", "1", odd)).class_names == ("0", "1", odd)


# ---------------------------------------------------------------- several labels


MULTI = {"edema": ["1", "", "-1", "0"], "effusion": ["0", "1.0", "False", ""]}


@pytest.mark.parametrize(("rule", "value"), [("missing", np.nan), ("positive", 1), ("negative", 0)])
def test_blank_is_missing_and_uncertain_is_what_the_rule_says(rows, rule, value):
    found = many_labels(rows(multi=MULTI), None, rule)
    assert found.class_names == ("edema", "effusion")
    assert found.labels.dtype == np.float32
    expected = [[1, 0], [np.nan, 1], [value, 0], [0, np.nan]]
    np.testing.assert_array_equal(found.labels, np.array(expected, np.float32))
    assert found.notes == (
        f"label edema: 2 known, 1 missing, 1 uncertain, counted as {rule} (data.uncertain)",
        "label effusion: 3 known, 1 missing",
    )


def test_labels_may_be_words_and_in_another_order(rows):
    multi = {"a": ["yes", "U"], "b": ["TRUE", "-1.0"]}
    found = many_labels(rows(multi=multi), ("b", "a"), "missing")
    assert found.class_names == ("b", "a")
    np.testing.assert_array_equal(found.labels, [[1, 1], [np.nan, np.nan]])
    assert found.notes[-1] == "1 of 2 rows have no known label"


def test_other_values_and_other_names_are_refused(rows):
    with pytest.raises(InputError, match=r"line 3 \(1.png\) has '2' in the column 'a'"):
        many_labels(rows(multi={"a": ["1", "2"]}), None, "missing")
    with pytest.raises(InputError, match=r"'edma' is not one of .*Did you mean 'edema'"):
        many_labels(rows(multi=MULTI), ("edma", "effusion"), "missing")
    with pytest.raises(InputError, match=r"list each label of data\.label once: edema, effusion"):
        many_labels(rows(multi=MULTI), ("edema",), "missing")
