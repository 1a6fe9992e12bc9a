"""The predictions table reads back to the last bit, whatever the names."""

import csv
import dataclasses

import numpy as np
import pytest

from medldr.errors import InputError
from medldr.evaluation import by_split, join, predictions_of, read_predictions, write_predictions


def assert_equal(one, other):
    for field in dataclasses.fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "columns":
            assert list(a) == list(b)
            a, b = (np.array(list(columns.values())) for columns in (a, b))
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
            assert a.dtype.kind == b.dtype.kind
        else:
            assert a == b


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal", "multi-label"])
def test_what_is_read_equals_what_was_written_bit_for_bit(make, task, tmp_path):
    table = make(task, n=50, missing=0.3)
    write_predictions(tmp_path / "p.csv", table)
    assert_equal(read_predictions(tmp_path / "p.csv", task), table)


def test_odd_probabilities_survive(tmp_path):
    prob = [[5e-324, 1.0], [0.1 + 0.2, 0.7], [np.nan, np.nan]]
    table = predictions_of("binary", [0, 1, 0], prob)
    write_predictions(tmp_path / "p.csv", table)
    assert_equal(read_predictions(tmp_path / "p.csv"), table)


@pytest.mark.parametrize(
    ("prob", "said"),
    [
        ([[0.2, 0.8], [2.0, 5.0]], "row 1 holds a probability that is not between 0 and 1"),
        ([[0.2, 0.8], [-0.1, 1.1]], "row 1 holds a probability that is not between 0 and 1"),
        ([[0.2, 0.8], [0.6, 0.9]], "row 1 has probabilities that sum to 1.5 instead of 1"),
    ],
)
def test_what_is_no_probability_is_refused(tmp_path, prob, said):
    """Unnormalised outputs gave a calibration error of 6.0 and a negative loss."""
    with pytest.raises(InputError, match=said):
        predictions_of("binary", [0, 1], prob)
    path = tmp_path / "p.csv"
    write_predictions(path, predictions_of("binary", [0, 1], [[0.2, 0.8], [0.5, 0.5]]))
    lines = path.read_text().splitlines()
    lines[2] = lines[2].replace("0.5,0.5", ",".join(map(str, prob[1])))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=said.replace("row 1", "row 3")) as error:
        read_predictions(path)
    assert str(path) in str(error.value)
    assert "medldr evaluate" in str(error.value)


def test_names_with_commas_quotes_lines_and_any_script_survive(tmp_path):
    names = ["Brüche, alle", 'say "no"', "骨折", "two\nlines"]
    texts = {
        "ids": ["0123", "a,b", "Å"],
        "domain": ["klinik ø", "", "x"],
        "group": ["", "9", "P,1"],
    }
    table = predictions_of("multi-class", [0, 3, 1], np.eye(4)[:3], class_names=names, **texts)
    write_predictions(tmp_path / "p.csv", table)
    assert_equal(read_predictions(tmp_path / "p.csv"), table)
    labels = predictions_of(
        "multi-label", [[0, 1, np.nan, 1]] * 3, np.eye(4)[:3], class_names=names, **texts
    )
    write_predictions(tmp_path / "p.csv", labels)
    assert_equal(read_predictions(tmp_path / "p.csv"), labels)


ODD = {
    "sex, at birth": ["007", "NA", "None", "nan", ""],
    "prob_x": ['a "b"', "c,d", "e\nf", "g\rh", " i "],
    "label": ["1", "2.0", "1e3", "-", "骨折"],
}


@pytest.mark.parametrize("task", ["binary", "multi-label"])
@pytest.mark.parametrize("part", [None, ["target_in"] * 5])
def test_further_columns_are_read_back_as_they_were(make, task, part, tmp_path):
    table = make(task, n=5, columns=ODD, part=part)
    write_predictions(tmp_path / "p.csv", table)
    assert_equal(read_predictions(tmp_path / "p.csv", task), table)
    head = next(csv.reader((tmp_path / "p.csv").read_text().splitlines()))
    assert [name for name in head if name.startswith("meta_")] == [f"meta_{name}" for name in ODD]


def test_rows_keep_their_further_columns_when_selected_and_joined(make):
    one, other = make(n=5, columns=ODD), make(n=3, columns={"age": ["1", "2", "3"]})
    kept = one.select(np.array([4, 0]))
    assert {name: column.tolist() for name, column in kept.columns.items()} == {
        name: [values[4], values[0]] for name, values in ODD.items()
    }
    both = join([one, other])
    assert both.columns["age"].tolist() == [""] * 5 + ["1", "2", "3"]
    assert both.columns["label"].tolist() == [*ODD["label"], "", "", ""]


def test_a_missing_label_is_an_empty_cell_and_columns_are_named_as_documented(tmp_path):
    table = predictions_of("multi-label", [[0, np.nan]], [[0.25, 0.5]], class_names=["a", "b"])
    write_predictions(tmp_path / "p.csv", table)
    rows = list(csv.reader((tmp_path / "p.csv").read_text().splitlines()))
    assert rows[0] == ["id", "split", "domain", "group", "label_a", "label_b", "prob_a", "prob_b"]
    assert rows[1] == ["0", "test", "", "", "0", "", "0.25", "0.5"]


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_the_part_of_a_held_out_domain_is_a_column_where_there_is_one(make, task, tmp_path):
    table = make(task, n=3, part=["target_in", "", "target_out"], missing=0.3)
    write_predictions(tmp_path / "p.csv", table)
    rows = list(csv.reader((tmp_path / "p.csv").read_text().splitlines()))
    assert rows[0][:6] == ["id", "split", "domain", "group", "part", rows[0][5]]
    assert rows[0][5].startswith("label")
    assert [row[4] for row in rows[1:]] == ["target_in", "", "target_out"]
    assert_equal(read_predictions(tmp_path / "p.csv", task), table)
    assert join([table, table]).part.tolist() == [*table.part.tolist()] * 2


def test_ordered_classes_are_known_from_the_evaluation_beside_the_table(make, tmp_path):
    write_predictions(tmp_path / "p.csv", make("ordinal"))
    assert read_predictions(tmp_path / "p.csv").task == "multi-class"
    (tmp_path / "evaluation.json").write_text('{"task": "ordinal", "splits": {}}')
    assert read_predictions(tmp_path / "p.csv").task == "ordinal"


def test_joining_and_parting_by_split_are_inverse(make):
    parts = {"val": make(seed=1, split="val"), "test": make(seed=2)}
    again = by_split(join(list(parts.values())))
    assert list(again) == ["val", "test"]
    for split, part in parts.items():
        assert_equal(again[split], part)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "", "not a predictions table"),
        (lambda text: text.replace("label", "truth"), "not a predictions table: its columns are"),
        (lambda text: text[: text.rindex(",")], "row 4 has 6 columns, the header has 7"),
        (
            lambda text: text.replace("0.25", "quarter"),
            "column 'prob_0' holds a value that is not a number",
        ),
        (lambda text: text.replace(",1,0.5", ",7,0.5"), "row 3 has label 7; allowed are"),
        (lambda text: text.replace(",1,0.5", ",nan,0.5"), "row 3 has label nan; allowed are"),
    ],
)
def test_a_damaged_table_is_named_with_the_place(tmp_path, change, said):
    path = tmp_path / "predictions.csv"
    write_predictions(path, predictions_of("binary", [0, 1, 0], [[0.25, 0.75], [0.5, 0.5], [1, 0]]))
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=r"predictions\.csv") as error:
        read_predictions(path)
    assert said in str(error.value)


def test_an_absent_table_is_named(tmp_path):
    with pytest.raises(InputError, match="the predictions table is missing"):
        read_predictions(tmp_path / "predictions.csv")


def test_an_empty_split_can_be_written_and_read(tmp_path):
    table = predictions_of("binary", np.empty(0, dtype=int), np.empty((0, 2)))
    write_predictions(tmp_path / "p.csv", table)
    assert len(read_predictions(tmp_path / "p.csv")) == 0
