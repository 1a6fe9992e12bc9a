"""Metrics against MedMNIST's evaluator, scikit-learn, MONAI, and worked values."""

import numpy as np
import pytest
import torch
from medmnist.evaluator import getACC, getAUC
from sklearn import metrics as sk

from medldr.evaluation import (
    accuracy,
    auc,
    predictions_of,
    read_predictions,
    score,
    write_predictions,
)
from medldr.evaluation.metrics.calibration import bin_of
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.score import measures, values

MEDMNIST_TASKS = {
    "multi-class": "multi-class",
    "ordinal": "ordinal-regression",
    "binary": "binary-class",
    "multi-label": "multi-label, binary-class",
}


def draw(task, seed, n=80, k=4, decimals=None):
    rng = np.random.default_rng(seed)
    k = 2 if task == "binary" else k
    if task == "multi-label":
        prob, label = rng.random((n, k)), rng.integers(0, 2, (n, k))
    else:
        prob, label = rng.dirichlet(np.ones(k), n), rng.integers(0, k, n)
    return label, prob if decimals is None else prob.round(decimals)


@pytest.mark.parametrize("task", MEDMNIST_TASKS)
@pytest.mark.parametrize("decimals", [None, 1])
def test_accuracy_and_auc_equal_the_medmnist_evaluator(task, decimals):
    for seed in range(5):
        label, prob = draw(task, seed, decimals=decimals)
        theirs = MEDMNIST_TASKS[task]
        ours = label.astype(float) if task == "multi-label" else label
        assert accuracy(ours, prob, task) == pytest.approx(getACC(label, prob, theirs), abs=1e-12)
        assert auc(ours, prob, task) == pytest.approx(getAUC(label, prob, theirs), abs=1e-12)


def test_worked_value_of_a_multi_class_task():
    label = np.array([0, 1, 2, 1, 0, 2])
    prob = np.array([[7, 2, 1], [3, 5, 2], [2, 5, 3], [1, 6, 3], [4, 5, 1], [1, 2, 7]], dtype=float)
    found = values(measures(Items(label, prob / 10, "multi-class")))
    assert [found[f"class/{k}/auc"] for k in range(3)] == [1.0, 0.875, 0.9375]
    assert found["auc"] == 0.9375
    assert found["accuracy"] == pytest.approx(2 / 3, abs=1e-15)


def test_worked_value_of_a_binary_task_in_which_a_half_counts_as_class_zero():
    label, positive = np.array([0, 1, 1, 0]), np.array([0.2, 0.5, 0.9, 0.65])
    for prob in (positive[:, None], np.stack([1 - positive, positive], axis=1)):
        assert auc(label, prob, "binary") == 0.75
        assert accuracy(label, prob, "binary") == 0.5


def test_worked_value_of_a_multi_label_task():
    label = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=float)
    prob = np.array([[0.2, 0.9], [0.6, 0.5], [0.4, 0.8], [0.1, 0.6]])
    assert auc(label, prob, "multi-label") == 1.0
    assert accuracy(label, prob, "multi-label") == 0.75


@pytest.mark.parametrize("task", ["multi-class", "ordinal", "binary"])
def test_single_label_metrics_equal_scikit_learn(task):
    for seed in range(4):
        label, prob = draw(task, seed)
        k = prob.shape[1]
        decided = (prob[:, -1] > 0.5).astype(int) if task == "binary" else prob.argmax(1)
        found = values(measures(Items(label, prob, task)))
        precision, recall, f1, _ = sk.precision_recall_fscore_support(
            label, decided, labels=range(k), zero_division=0
        )
        expected = {
            "balanced_accuracy": sk.balanced_accuracy_score(label, decided),
            "macro_f1": sk.f1_score(label, decided, average="macro"),
            "nll": sk.log_loss(label, prob, labels=range(k)),
            "brier": sk.brier_score_loss(label, prob, labels=range(k)),
        }
        expected |= {f"class/{c}/recall": recall[c] for c in range(k)}
        expected |= {f"class/{c}/precision": precision[c] for c in range(k)}
        expected |= {f"class/{c}/f1": f1[c] for c in range(k)}
        expected |= {f"class/{c}/auc": sk.roc_auc_score(label == c, prob[:, c]) for c in range(k)}
        if task == "ordinal":
            expected["quadratic_kappa"] = sk.cohen_kappa_score(
                label, decided, weights="quadratic", labels=range(k)
            )
            expected["mae"] = sk.mean_absolute_error(label, decided)
        if task == "binary":
            expected["sensitivity"], expected["specificity"] = recall[1], recall[0]
        for name, value in expected.items():
            assert found[name] == pytest.approx(value, abs=1e-12), name


def test_multi_label_metrics_equal_scikit_learn_label_by_label_with_missing_ones_left_out():
    label, prob = draw("multi-label", 3)
    label = label.astype(float)
    label[np.random.default_rng(1).random(label.shape) < 0.3] = np.nan
    columns = [
        (label[~np.isnan(label[:, c]), c], prob[~np.isnan(label[:, c]), c]) for c in range(4)
    ]
    found = values(measures(Items(label, prob, "multi-label")))
    expected = {
        "accuracy": [sk.accuracy_score(y, p > 0.5) for y, p in columns],
        "auc": [sk.roc_auc_score(y, p) for y, p in columns],
        "balanced_accuracy": [sk.balanced_accuracy_score(y, p > 0.5) for y, p in columns],
        "macro_f1": [sk.f1_score(y, p > 0.5) for y, p in columns],
        "nll": [sk.log_loss(y, p) for y, p in columns],
        "brier": [sk.brier_score_loss(y, p) for y, p in columns],
        "ece": [plain_ece(p, y, 15) for y, p in columns],
    }
    for name, each in expected.items():
        assert found[name] == pytest.approx(np.mean(each), abs=1e-12), name
    known = ~np.isnan(label)
    rows = [r for r in range(len(label)) if known[r].any()]
    match = [np.array_equal(label[r, known[r]], prob[r, known[r]] > 0.5) for r in rows]
    assert found["exact_match"] == pytest.approx(np.mean(match), abs=1e-12)


def plain_ece(confidence, outcome, bins):
    """The definition, bin by bin in a loop: open below, closed above, the first closed twice."""
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = (confidence > low) & (confidence <= high) | ((b == 0) & (confidence == 0))
        if inside.any():
            total += inside.mean() * abs(confidence[inside].mean() - outcome[inside].mean())
    return total


@pytest.mark.parametrize("bins", [2, 10, 15])
def test_both_calibration_errors_equal_a_loop_over_bins(bins):
    label, prob = draw("binary", 5, n=200)
    prob[:3] = [[1, 0], [0, 1], [0.5, 0.5]]
    decided = (prob[:, 1] > 0.5).astype(int)
    found = values(measures(Items(label, prob, "binary", bins=bins)))
    top = prob[np.arange(200), decided]
    assert found["ece"] == pytest.approx(plain_ece(top, decided == label, bins), abs=1e-12)
    assert found["ece_positive"] == pytest.approx(plain_ece(prob[:, 1], label, bins), abs=1e-12)


def test_calibration_error_equals_monai():
    from monai.metrics import CalibrationErrorMetric

    label, prob = draw("binary", 6, n=300)
    metric = CalibrationErrorMetric(num_bins=10, metric_reduction="none")
    shown = np.ascontiguousarray(prob.T[None], dtype=np.float32)
    truth = np.ascontiguousarray(np.eye(2, dtype=np.float32)[label].T[None])
    metric(torch.from_numpy(shown), torch.from_numpy(truth))
    found = values(measures(Items(label, prob, "binary", bins=10)))
    assert found["ece_positive"] == pytest.approx(metric.aggregate()[0, 1].item(), abs=1e-5)


def test_every_edge_belongs_to_the_bin_below_it():
    edges = np.arange(16) / 15
    assert bin_of(edges, 15).tolist() == [0, *range(15)]


def test_a_probability_of_zero_gives_a_finite_loss():
    found = score(predictions_of("binary", [1, 0], [[1.0, 0.0], [1.0, 0.0]]))
    assert found["loss"] == pytest.approx(708.396 / 2, abs=1e-2)


# Situations that public bug reports tell of, with the right value of each.


def test_auc_reads_the_probability_of_the_positive_class():
    label = np.array([0, 0, 1, 1])
    prob = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.2, 0.8]])
    assert auc(label, prob, "binary") == 1.0  # thresholded it is 0.75, of the other column 0
    assert accuracy(label, prob, "binary") == 0.75


def test_one_class_in_the_labels_leaves_auc_undefined_and_accuracy_right():
    table = predictions_of("binary", [1, 1, 1], [[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    assert score(table)["auc"] is None
    assert score(table)["accuracy"] == pytest.approx(2 / 3, abs=1e-15)


def test_declaring_more_classes_changes_no_macro_mean():
    for declared in (2, 5, 50):
        prob = np.eye(declared)[[0, 1, 1, 1]]
        found = values(measures(Items(np.array([0, 0, 1, 1]), prob, "multi-class")))
        assert found["macro_f1"] == pytest.approx(11 / 15, abs=1e-12)
        assert found["balanced_accuracy"] == 0.75


def test_multi_label_accuracy_and_exact_match_are_two_things():
    label = np.array([[1, 0, 1], [0, 0, 0]], dtype=float)
    prob = np.array([[1.0, 0, 0], [0, 0, 0]])
    found = values(measures(Items(label, prob, "multi-label")))
    assert found["accuracy"] == pytest.approx(5 / 6, abs=1e-15)
    assert found["exact_match"] == 0.5


@pytest.mark.parametrize("second", [[0, 0, 0], [np.nan, np.nan, np.nan]])
def test_one_undefined_label_does_not_break_the_mean_auc(second):
    label = np.stack([[1, 0, 1], second], axis=1).astype(float)
    prob = np.array([[0.9, 0.2], [0.1, 0.3], [0.4, 0.1]])
    found = values(measures(Items(label, prob, "multi-label")))
    assert found["class/0/auc"] == 1.0
    assert np.isnan(found["class/1/auc"])
    assert found["auc"] == 1.0


def test_a_probability_of_zero_counts_in_the_calibration_error():
    found = values(measures(Items(np.array([1]), np.array([[1.0, 0.0]]), "binary", bins=10)))
    assert found["ece_positive"] == 1.0


@pytest.mark.parametrize("flag", ["retinamnist", "breastmnist", "adrenalmnist3d"])
def test_a_table_on_disk_equals_the_evaluator_on_the_real_labels(flag, medmnist_root, tmp_path):
    from medmnist import Evaluator

    if not (medmnist_root / f"{flag}.npz").is_file():
        pytest.skip(f"real data is absent: {flag}.npz")
    evaluator = Evaluator(flag, "test", root=str(medmnist_root))
    label = evaluator.labels.squeeze().astype(np.int64)
    classes = len(evaluator.info["label"])
    task = {theirs: ours for ours, theirs in MEDMNIST_TASKS.items()}[evaluator.info["task"]]
    prob = np.random.default_rng(0).dirichlet(np.ones(classes), len(label))
    write_predictions(tmp_path / "p.csv", predictions_of(task, label, prob))
    table = read_predictions(tmp_path / "p.csv", task)
    theirs = evaluator.evaluate(table.prob)
    assert accuracy(table.label, table.prob, task) == pytest.approx(theirs.ACC, abs=1e-12)
    assert auc(table.label, table.prob, task) == pytest.approx(theirs.AUC, abs=1e-12)
