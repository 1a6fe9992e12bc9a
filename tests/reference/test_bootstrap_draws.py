"""Every bootstrap draw against scikit-learn on the items that the draw repeats."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics as sk

from medldr.evaluation import predictions_of
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.score import measures, values
from medldr.evaluation.split_scores import SplitScores
from medldr.folders.evaluation_parts import OperatingPoint

DRAWS = 40


def judge_of(task, n=50, k=3, groups=None, seed=0, decimals=2, missing=0.0):
    rng = np.random.default_rng(seed)
    if task == "multi-label":
        label = rng.integers(0, 2, (n, k)).astype(float)
        prob = rng.random((n, k))
        label[rng.random((n, k)) < missing] = np.nan
    else:
        k = 2 if task == "binary" else k
        label, prob = rng.integers(0, k, n), rng.dirichlet(np.ones(k), n)
    group = None if groups is None else [f"patient {g}" for g in rng.integers(0, groups, n)]
    domain = [f"hospital {d}" for d in rng.integers(0, 2, n)]
    table = predictions_of(task, label, prob, group=group, domain=domain)
    table = replace(table, prob=prob.round(decimals))  # for ties, without a check of the sums
    return SplitScores(table, 15, 1, OperatingPoint(specificity=0.9, threshold=0.4))


def repeated_items(judge, split="test", seed=0):
    """Row numbers of each draw, found from the weights of the groups alone."""
    generator = bootstrap.stream(seed, split)
    weights = np.concatenate(
        list(bootstrap.group_weights(judge.units.count, DRAWS, generator)), axis=1
    )
    counts = weights[judge.units.number].astype(int)
    return [np.repeat(np.arange(len(counts)), counts[:, b]) for b in range(DRAWS)]


@pytest.mark.slow
@pytest.mark.parametrize("groups", [None, 12])
@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal"])
def test_each_draw_equals_scikit_learn_on_the_repeated_items(task, groups):
    judge = judge_of(task, groups=groups)
    drawn = judge.draws(DRAWS, 0, "test")
    table, k = judge.table, judge.table.prob.shape[1]
    for b, rows in enumerate(repeated_items(judge)):
        label, prob = table.label[rows], table.prob[rows]
        decided = (prob[:, 1] > 0.5).astype(int) if task == "binary" else prob.argmax(1)
        areas = [sk.roc_auc_score(label == c, prob[:, c]) for c in range(k)]
        expected = {
            "accuracy": sk.accuracy_score(label, decided),
            "balanced_accuracy": sk.balanced_accuracy_score(label, decided),
            "macro_f1": sk.f1_score(label, decided, average="macro"),
            "auc": areas[-1] if task == "binary" else np.mean(areas),
            "class/0/recall": sk.recall_score(label, decided, labels=[0], average="macro"),
            "class/1/auc": areas[1],
        }
        if task == "ordinal":
            expected["quadratic_kappa"] = sk.cohen_kappa_score(label, decided, weights="quadratic")
        if task == "binary":
            found = sk.recall_score(label, prob[:, 1] > 0.4)
            expected["sensitivity_at_specificity"] = found
        for name, value in expected.items():
            assert drawn[name][b] == pytest.approx(value, abs=1e-12), name


def test_weights_equal_sample_weights_of_scikit_learn():
    judge = judge_of("multi-class", groups=12)
    (weights,) = bootstrap.group_weights(judge.units.count, DRAWS, bootstrap.stream(0, "test"))
    drawn = judge.draws(DRAWS, 0, "test")
    label, prob = judge.table.label, judge.table.prob
    for b in range(DRAWS):
        w = weights[judge.units.number, b]
        area = sk.roc_auc_score(label == 2, prob[:, 2], sample_weight=w)
        assert drawn["class/2/auc"][b] == pytest.approx(area, abs=1e-12)
        hit = sk.accuracy_score(label, prob.argmax(1), sample_weight=w)
        assert drawn["accuracy"][b] == pytest.approx(hit, abs=1e-12)


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal", "multi-label"])
def test_each_draw_of_every_metric_equals_the_metric_of_the_repeated_items(task):
    judge = judge_of(task, groups=9, n=40, missing=0.2, seed=4)
    drawn = judge.draws(DRAWS, 0, "test")
    table, domains = judge.table, judge.domains
    checked = 0
    for b, rows in enumerate(repeated_items(judge)):
        for prefix, inside in [
            ("", rows),
            *((f"domain/{d}/", rows[domains[d][rows]]) for d in domains),
        ]:
            level = "domain" if prefix else ""
            label, prob = table.label[inside], table.prob[inside]
            found = values(measures(Items(label, prob, task, threshold=0.4), level=level))
            for name, value in found.items():
                ours = drawn[prefix + name][b]
                np.testing.assert_allclose(ours, value, atol=1e-12, err_msg=prefix + name)
                checked += 1
    assert checked > 1000


def test_a_draw_without_a_class_is_undefined_for_that_class_alone():
    prob = np.array([[0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.9, 0.1]])
    judge = SplitScores(
        predictions_of("binary", [0, 0, 1, 0], prob), 15, 1, OperatingPoint(specificity=0.9)
    )
    drawn = judge.draws(400, 0, "test")
    absent = np.isnan(drawn["class/1/recall"])
    assert 0.2 < absent.mean() < 0.45  # (3/4)^4 = 0.316
    np.testing.assert_array_equal(
        np.isnan(drawn["auc"]) & ~np.isnan(drawn["class/0/recall"]), absent
    )
    assert not np.isnan(drawn["accuracy"]).any()
