"""Confident answers are ranked by log-odds, wherever ranks are measured."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import nn

from medldr.config import EvaluationConfig
from medldr.datasets.base import ImageTable
from medldr.errors import InputError
from medldr.evaluation import (
    auc,
    by_split,
    compare,
    evaluate,
    join,
    load_run,
    predictions_of,
    read_predictions,
    score,
    write_predictions,
)
from medldr.evaluation.predictions.log_odds import log_odds, log_odds_of_mean
from medldr.evaluation.predictions.predict import predict_each, probabilities
from medldr.evaluation.verification import verify_run
from medldr.folders.files import RunFolder
from medldr.types import Batch, DataSpec

TASKS = ("multi-class", "binary", "ordinal", "multi-label")
GAPS = np.array([38.0, 40, 42, 44, 46, 48, 50, 60, 70, 90])
LABELS = np.array([0] * 4 + [1] * 6)
SURE = np.column_stack([np.full(10, 0.25), GAPS + 0.25])
FOOTNOTE = "rank by probabilities"


def table_of(task, logits, label, *, odds=True, **texts):
    found = log_odds(logits, task) if odds else None
    return predictions_of(task, label, probabilities(logits, task), log_odds=found, **texts)


def tables_of(*, odds=True):
    """Confident predictions of a binary task, and some easy negatives."""
    label, logits = np.r_[LABELS, [0] * 5], np.r_[SURE, [[3.0, 0.0]] * 5]
    names = {"class_names": ["well", "ill"], "odds": odds}
    val = table_of("binary", logits[::-1].copy(), label[::-1], split="val", **names)
    return {"val": val, "test": table_of("binary", logits, label, split="test", **names)}


def drawn(task, n=80, k=4, seed=0):
    rng = np.random.default_rng(seed)
    k = 2 if task == "binary" else k
    label = rng.integers(0, 2 if task == "multi-label" else k, (n, k))
    return (label if task == "multi-label" else label[:, 0]), rng.normal(size=(n, k)) * 3


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("size", [3, 60, 600])
def test_log_odds_are_a_logit_minus_what_the_others_add_up_to(task, size):
    _, logits = drawn(task)
    logits = size * logits.astype(np.float32)
    exact = logits.astype(np.float64)
    each = [
        exact[:, k] - (0 if task == "multi-label" else logsumexp(np.delete(exact, k, 1), axis=1))
        for k in range(exact.shape[1])
    ]
    np.testing.assert_allclose(log_odds(logits, task), np.stack(each, 1), rtol=1e-12, atol=1e-13)


def test_equal_gaps_are_equal_whatever_is_added_and_outputs_that_are_not_finite_stay_apart():
    shifted = np.array([[0.0, 2.5, -1.0], [1024.0, 1026.5, 1023.0]])
    for logits, task in ((shifted, "multi-class"), (shifted[:, :2], "binary")):
        one, other = log_odds(logits, task)
        np.testing.assert_array_equal(one, other)
    odds = log_odds(np.array([[np.nan, 1.0], [np.inf, 0.0], [-np.inf, 0.0]]), "binary")
    assert np.isnan(odds[:2]).all()
    assert (np.isfinite(odds[2]) & (np.abs(odds[2]) > 1e300)).all()
    assert log_odds(np.empty((0, 3)), "multi-class").shape == (0, 3)


def test_probabilities_that_are_rounded_to_one_still_rank():
    """The worked value of confident networks: 1 by log-odds, 0.5 by probabilities."""
    table = table_of("binary", SURE, LABELS)
    assert auc(LABELS, table.prob, "binary") == 0.5
    found = score(table)
    assert (found["auc"], found["auprc"]) == (1, 1)
    assert score(dataclasses.replace(table, log_odds=None))["auc"] == 0.5
    assert score(table_of("binary", SURE[:, [1, 0]], 1 - LABELS), positive=0)["auc"] == 1
    label = np.stack([LABELS, 1 - LABELS], 1)
    many = table_of("multi-label", np.stack([GAPS, -GAPS], 1), label)
    assert score(many)["auc"] == 1
    three = np.column_stack([np.zeros((10, 2)), GAPS])
    wide = np.r_[three, [[9.0, 0, 0], [0, 9, 0], [0, 1, 0]]]
    found = score(table_of("multi-class", wide, np.r_[2 * LABELS, 0, 1, 1]))
    assert auc(np.r_[2 * LABELS, 0, 1, 1] == 2, log_odds(wide, "multi-class")[:, 2], "binary") == 1
    entry = evaluate(
        {"test": table_of("multi-class", wide, np.r_[2 * LABELS, 0, 1, 1])},
        EvaluationConfig(draws=100, splits=["test"]),
    )["splits"]["test"]
    assert entry["classes"]["2"]["auc"]["value"] == 1
    assert found["auc"] == pytest.approx(
        np.mean([entry["classes"][name]["auc"]["value"] for name in "012"])
    )


def test_curves_draws_domains_and_referral_rank_in_the_same_way():
    texts = {"domain": list("ab" * 5), "odds": True}
    entry = evaluate(
        {"test": table_of("binary", SURE, LABELS, **texts)},
        EvaluationConfig(draws=100, splits=["test"]),
    )["splits"]["test"]
    assert (entry["metrics"]["auc"]["value"], entry["metrics"]["auprc"]["value"]) == (1, 1)
    assert {of["metrics"]["auc"]["value"] for of in entry["domains"].values()} == {1}
    assert set(entry["roc_by_domain"]) == {"a", "b"}
    for curve in (entry["roc"]["1"], *entry["roc_by_domain"].values()):
        assert (0.0, 1.0) in zip(curve["fpr"], curve["tpr"], strict=True)
    assert max(entry["precision_recall"]["1"]["precision"]) == 1
    # The four wrong answers are the least sure: none among the 6 that are kept first.
    assert entry["risk_coverage"]["error"][:6] == [0] * 6
    assert entry["error_at_coverage"]["70"]["value"] == pytest.approx(1 / 7)
    risk = np.r_[[0] * 6, np.arange(1, 5) / np.arange(7, 11)].mean()
    assert entry["metrics"]["aurc"]["value"] == pytest.approx(risk)


@pytest.mark.parametrize("task", TASKS)
def test_where_no_probability_is_rounded_ranks_are_those_of_probabilities(task):
    """Also among those that tie, as logits of low precision do."""
    for seed in range(3):
        label, logits = drawn(task, seed=seed)
        table = table_of(task, (8 * logits).round() / 8, label)
        bare = dataclasses.replace(table, log_odds=None)
        one, other = score(table), score(bare)
        for name in ("auc", "auprc", *(() if task == "multi-label" else ("aurc",))):
            assert one[name] == pytest.approx(other[name], abs=1e-12)
        columns = label.T if task == "multi-label" else [label == k for k in range(logits.shape[1])]
        pairs = list(zip(columns, table.log_odds.T, strict=True))
        if task == "binary":
            pairs = pairs[1:]
        for name, reference in (("auc", roc_auc_score), ("auprc", average_precision_score)):
            assert one[name] == pytest.approx(np.mean([reference(*p) for p in pairs]), abs=1e-12)


def test_every_prediction_of_a_model_has_its_log_odds():
    spec = DataSpec("binary", ("well", "ill"), (1, 1), 1, (1, 1))
    logits = torch.tensor(SURE).float()
    batch = Batch(logits[:, None], torch.tensor(LABELS), None, None, torch.arange(10))
    table = ImageTable(
        name="t", task="binary", class_names=spec.class_names, images=np.zeros((10, 1, 1, 2)),
        labels=LABELS, ids=np.array([f"{n}" for n in range(10)]), splits=np.full(10, ""),
        domains=np.full(10, ""), groups=np.full(10, ""),
    )  # fmt: skip
    (found,) = predict_each([nn.Flatten()], [batch], spec=spec, table=table, split="val")
    np.testing.assert_array_equal(found.log_odds, np.stack([-GAPS, GAPS], 1))
    assert score(found)["auc"] == 1  # what validation selects by


def test_log_odds_of_a_mean_are_those_of_the_mean_probability_and_keep_ties():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), (5, 40))
    odds = np.log(prob) - np.log1p(-prob)
    mean = prob.mean(axis=0)
    np.testing.assert_allclose(log_odds_of_mean(odds), np.log(mean / (1 - mean)), rtol=1e-9)
    sure = np.array([[38.0, 38, 900], [60, 700, 900]])
    expected = [38 + np.log(2), 38 + np.log(2), 900]
    assert log_odds_of_mean(sure) == pytest.approx(expected, abs=1e-6)
    assert (log_odds_of_mean(-sure) < -37).all()
    np.testing.assert_array_equal(log_odds_of_mean(odds[:1]), odds[0])
    # Equal means of other members, in another order or of other numbers, are equal.
    parts = np.array([0.3, 0.7, 0.2, 0.8, 0.45, 0.55])
    each = np.log(parts) - np.log1p(-parts)
    means = [log_odds_of_mean(each[list(part)]) for part in ([0, 1], [3, 2], [4, 5], [5, 2, 4, 3])]
    assert set(map(float, means)) == {0.0}
    several = rng.normal(size=(6, 200)) * 10
    order = rng.permutation(6)
    np.testing.assert_array_equal(log_odds_of_mean(several), log_odds_of_mean(several[order]))


@pytest.mark.parametrize("task", TASKS)
def test_a_file_keeps_them_to_the_last_bit_beside_the_probabilities(task, tmp_path):
    label, logits = drawn(task)
    names = ["a", "prob_b", "x, y", "logodds_c"][: logits.shape[1]]
    path = tmp_path / "p.csv"
    table = table_of(task, 20 * logits, label, class_names=names)
    write_predictions(path, table)
    found = read_predictions(path, task)
    np.testing.assert_array_equal(found.log_odds, table.log_odds)
    np.testing.assert_array_equal(found.prob, table.prob)
    assert found.class_names == table.class_names
    head = path.read_text().splitlines()[0]
    assert head.index("prob_a") < head.index("logodds_a")
    kept = found.select(np.arange(len(found)) % 2 == 0)
    np.testing.assert_array_equal(kept.log_odds, table.log_odds[::2])


def test_tables_without_them_rank_by_probability_also_when_joined_with_others():
    one, bare = (table_of("binary", SURE, LABELS, odds=odds) for odds in (True, False))
    assert join([one, one]).log_odds.shape == (20, 2)
    assert join([one, bare]).log_odds is None
    assert score(bare)["auc"] == 0.5


@pytest.mark.parametrize("odds", [SURE, np.stack([-GAPS, GAPS], 1) / 100])
def test_numbers_that_are_not_log_odds_of_the_probabilities_are_refused(odds, tmp_path):
    """Raw logits would rank otherwise."""
    said = "row 0 has log-odds that are not of its probabilities"
    with pytest.raises(InputError, match=said):
        predictions_of("binary", LABELS, probabilities(SURE, "binary"), log_odds=odds)
    table = table_of("binary", SURE, LABELS)
    write_predictions(tmp_path / "p.csv", dataclasses.replace(table, log_odds=odds))
    with pytest.raises(InputError, match=said.replace("row 0", "row 2")) as error:
        read_predictions(tmp_path / "p.csv")
    assert str(tmp_path / "p.csv") in str(error.value)


def test_a_run_its_evaluation_again_and_its_comparison_agree(run_folder):
    """From predictions.csv to every number, twice; an earlier run's table ranks by probability."""
    config = {"splits": ["val", "test"]}
    tables = tables_of()
    run = run_folder("new", tables, config=config)
    again = evaluate(
        by_split(read_predictions(run / "predictions.csv")), EvaluationConfig(draws=200, **config)
    )
    recorded = json.loads((run / "evaluation.json").read_text())
    assert again["splits"] == recorded["splits"]
    assert recorded["splits"]["test"]["metrics"]["auc"]["value"] == 1
    assert recorded["notes"] == again["notes"]
    assert not any(FOOTNOTE in note for note in recorded["notes"])
    assert not isinstance(load_run(run), str)  # refused if numbers did not follow from the table
    (run / "config.yaml").write_text("")
    differs = verify_run(RunFolder(run)).differs  # a made folder has no checksums, splits and log
    assert not [text for text in differs if "metrics." in text or "computed" in text]
    old = run_folder("old", tables_of(odds=False), label="old", config=config)
    said = json.loads((old / "evaluation.json").read_text())["notes"]
    assert [note.partition(":")[0] for note in said if FOOTNOTE in note] == ["val, test"]
    assert not isinstance(load_run(old), str)
    found = compare([run, old])
    values = {
        row["method"]: row["values"]
        for row in found["rows"]
        if (row["split"], row["domain"], row["metric"]) == ("test", None, "auc")
    }
    assert values["erm"] == [1]
    assert values["old"][0] < 0.8
    marks = {method["method"]: method["footnotes"] for method in found["methods"]}
    assert [FOOTNOTE in found["footnotes"][n - 1] for n in marks["old"]] == [True]
    assert marks["erm"] == []
    assert any("DeLong" in note and "0.000" not in note for note in found["notes"])


def test_the_threshold_stays_a_probability():
    point = evaluate(tables_of(), EvaluationConfig(draws=100, splits=["val", "test"]))
    assert 0 <= point["operating_point"]["threshold"] <= 1
