"""Group e of the cases: numbers that other tools computed from the wrong thing."""

import json

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import accuracy, auc, evaluate, predictions_of
from medldr.folders.files import write_json


@pytest.fixture
def scored():
    """The ``test`` entry of `evaluation.json`, for predictions by value."""

    def of(task, label, prob, bins=10, **texts):
        table = predictions_of(task, label, prob, **texts)
        whole = evaluate({"test": table}, EvaluationConfig(draws=100, bins=bins))
        return whole, whole["splits"]["test"]

    return of


def test_auc_is_of_the_positive_class_probabilities(scored):
    positive = np.array([0.1, 0.6, 0.7, 0.8])
    _, entry = scored("binary", [0, 0, 1, 1], np.stack([1 - positive, positive], axis=1))
    assert entry["metrics"]["auc"]["value"] == 1.0  # thresholded 0.75, wrong column 0.0
    assert entry["metrics"]["accuracy"]["value"] == 0.75
    assert auc(np.array([0, 0, 1, 1]), positive, "binary") == 1.0
    assert accuracy(np.array([0, 0, 1, 1]), positive, "binary") == 0.75


def test_one_class_alone_has_no_auc_and_a_reason(scored, tmp_path):
    prob = [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]]
    whole, entry = scored("binary", [1, 1, 1], prob)
    undefined = entry["metrics"]["auc"]
    assert (undefined["value"], undefined["low"], undefined["high"]) == (None, None, None)
    assert undefined["reason"] == "only one class in the labels"
    assert entry["metrics"]["accuracy"]["value"] == pytest.approx(2 / 3)
    write_json(tmp_path / "evaluation.json", whole)
    text = (tmp_path / "evaluation.json").read_text()
    assert "NaN" not in text
    assert json.loads(text)["splits"]["test"]["metrics"]["auc"]["value"] is None


def test_a_run_tested_on_one_class_ends_well(train, rows, the_run):
    ended = train("machine.report=true", given=rows(train="01010101", val="0101", test="111"))
    assert ended.code == 0, ended.err
    text = the_run().evaluation.read_text()
    assert "NaN" not in text
    undefined = json.loads(text)["splits"]["test"]["metrics"]["auc"]
    assert (undefined["value"], undefined["reason"]) == (None, "only one class in the labels")
    assert "AUC is undefined (only one class in the labels)" in " ".join(ended.out.split())
    assert "only one class in the labels" in the_run().report.read_text()


def test_declared_classes_that_are_absent_do_not_count_as_zero(scored):
    whole, entry = scored("multi-class", [0, 0, 1, 1], np.eye(5)[[0, 1, 1, 1]])
    assert entry["metrics"]["macro_f1"]["value"] == pytest.approx(11 / 15)  # not 0.2933
    assert entry["metrics"]["balanced_accuracy"]["value"] == 0.75  # not 0.30
    assert entry["absent_classes"] == ["2", "3", "4"]
    assert any("no items of 2, 3, 4" in note for note in whole["notes"])


def test_both_accuracies_of_several_labels_are_named(scored):
    prob = np.array([[1, 0, 0], [0, 0, 0]], dtype=float)
    whole, entry = scored("multi-label", [[1, 0, 1], [0, 0, 0]], prob)
    assert entry["metrics"]["accuracy"]["value"] == pytest.approx(5 / 6)  # MedMNIST's ACC
    assert entry["metrics"]["exact_match"]["value"] == 0.5
    assert "mean over labels" in whole["definitions"]["accuracy"]
    assert "exact_match" in whole["definitions"]


@pytest.mark.parametrize("second", [0.0, np.nan], ids=["no positive", "all unknown"])
def test_a_label_without_both_answers_leaves_the_others_their_auc(second, scored):
    label = np.array([[1, second], [0, second], [1, second]])
    _, entry = scored("multi-label", label, [[0.9, 0.2], [0.1, 0.3], [0.4, 0.1]])
    assert entry["metrics"]["auc"]["value"] == 1.0
    assert entry["classes"]["0"]["auc"]["value"] == 1.0
    assert entry["classes"]["1"]["auc"]["value"] is None
    assert entry["classes"]["1"]["auc"]["reason"]


def test_a_probability_of_zero_counts_and_the_definition_is_said(scored):
    whole, entry = scored("binary", [1], [[1.0, 0.0]])
    assert entry["metrics"]["ece_positive"]["value"] == 1.0  # half-open bins: 0.0
    assert entry["metrics"]["ece"]["value"] == 1.0
    assert whole["calibration"] == {"definition": "top-label", "bins": 10}
    assert "positive class" in whole["definitions"]["ece_positive"]


def test_the_page_says_which_calibration_error_it_is(train, the_run):
    assert train("machine.report=true", "evaluation.bins=7").code == 0
    page = the_run().report.read_text()
    assert "7 bins" in page or "7 equal-width bins" in page
    assert "top-label" in page
