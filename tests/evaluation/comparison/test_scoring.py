"""The variance of one metric of one method: that of `compare`, and none where runs differ."""

import json

import numpy as np
import pytest

from medldr.evaluation import load_run, predictions_of
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.comparison.scoring import metric_scores
from medldr.evaluation.intervals.inference import of_mean


def table(seed, *, n=60, labels=0, part=""):
    label = np.random.default_rng(labels).integers(0, 3, n)
    logits = np.random.default_rng(100 + seed).normal(size=(n, 3))
    logits[np.arange(n), label] += 1
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    texts = {"ids": [f"i{i:03d}" for i in range(n)], "group": [f"p{i // 3}" for i in range(n)]}
    return predictions_of(
        "multi-class", label, prob, split="test", part=[part] * (n // 2) + [""] * (n - n // 2),
        **texts,
    )  # fmt: skip


@pytest.fixture
def runs(run_folder):
    def build(*tables):
        return [
            load_run(run_folder(f"a{seed}", {"test": each}, seed=seed))
            for seed, each in enumerate(tables)
        ]

    return build


@pytest.mark.parametrize("metric", ["accuracy", "auc", "nll"])
def test_it_is_the_variance_that_compare_uses(runs, metric):
    found = runs(table(0), table(1), table(2))
    mine = of_mean(*metric_scores(found, "test", metric))
    other = make_comparison(found).estimate("test", metric, "erm").variance
    assert mine.total == pytest.approx(other.total, rel=1e-12)
    assert mine.df == pytest.approx(other.df, rel=1e-12)


def test_a_part_is_scored_on_its_own_items(runs):
    found = runs(*(table(seed, part="target_in") for seed in range(3)))
    half = runs_of_half(found)
    mine = of_mean(*metric_scores(found, "test", "accuracy", "target_in"))
    assert mine.units[0].df == 9  # ten of the twenty patients
    values = [float((t.prob.argmax(1) == t.label).mean()) for t in half]
    assert mine.seeds[0].variance == pytest.approx(np.var(values, ddof=1) / 3)


def runs_of_half(found):
    tables = (run.predictions["test"] for run in found)
    return [t.select(t.part == "target_in") for t in tables]


def test_runs_that_cannot_be_compared_have_none(runs, run_folder):
    (one,) = runs(table(0))
    for number, other in enumerate((table(1, labels=1), table(1, n=57), table(1, part="x"))):
        run = load_run(run_folder(f"b{number}", {"test": other}, seed=1))
        assert metric_scores([one, run], "test", "accuracy") is None
    assert metric_scores([one], "id_test", "accuracy") is None


def test_runs_that_do_not_record_their_intervals_have_none(run_folder):
    folder = run_folder("old", {"test": table(0)})
    path = folder / "evaluation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intervals": None}))
    assert metric_scores([load_run(folder)], "test", "accuracy") is None
