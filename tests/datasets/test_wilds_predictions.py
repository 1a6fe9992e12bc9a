"""The prediction files are what WILDS reads, and score there as they do here."""

import importlib
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from medldr.config import EvaluationConfig
from medldr.datasets.camelyon17 import submission
from medldr.errors import InputError
from medldr.evaluation import evaluate, predictions_of

OFFICIAL = SimpleNamespace(split_scheme="official")


@pytest.fixture
def wilds_accuracy(monkeypatch):
    """WILDS' metric; its package must not look for a newer version of itself."""
    monkeypatch.setitem(sys.modules, "outdated", None)
    pytest.importorskip("wilds")
    return importlib.import_module("wilds.common.metrics.all_metrics").Accuracy()


@pytest.fixture
def tables():
    """Random predictions of the four splits, some of them at exactly one half."""
    rng = np.random.default_rng(0)
    found = {}
    for split, n in (("train", 9), ("id_val", 40), ("val", 50), ("test", 60)):
        tumour = rng.random(n).round(1)
        prob = np.stack([1 - tumour, tumour], axis=1)
        slides = [f"slide_{i % 10:02d}" for i in range(n)]
        found[split] = predictions_of(
            "binary", rng.integers(0, 2, n), prob, split=split, group=slides
        )
    return found


def test_the_names_are_those_that_wilds_looks_for(tables):
    assert list(submission(OFFICIAL, tables, 7)) == [
        "camelyon17_split:id_val_seed:7_epoch:best_pred.csv",
        "camelyon17_split:val_seed:7_epoch:best_pred.csv",
        "camelyon17_split:test_seed:7_epoch:best_pred.csv",
    ]
    assert list(submission(OFFICIAL, {"test": tables["test"]}, 0)) == [
        "camelyon17_split:test_seed:0_epoch:best_pred.csv"
    ]


@pytest.mark.parametrize("split", ["id_val", "val", "test"])
def test_wilds_reads_and_scores_them_as_the_evaluation_does(
    split, tables, tmp_path, wilds_accuracy
):
    name = f"camelyon17_split:{split}_seed:3_epoch:best_pred.csv"
    path = tmp_path / name
    path.write_text(submission(OFFICIAL, tables, 3)[name])
    lines = path.read_text().splitlines()  # one label per line, as its evaluation reads them
    predicted = torch.LongTensor([int(line) for line in lines])
    label = torch.from_numpy(tables[split].label)
    found = wilds_accuracy.compute(predicted, label)["acc_avg"]
    config = EvaluationConfig(draws=100, splits=(split,))
    ours = evaluate(tables, config)["splits"][split]["metrics"]["accuracy"]["value"]
    assert found == pytest.approx(ours, abs=1e-6)  # theirs is a float32
    assert len(lines) == len(tables[split])


def test_equal_probabilities_are_normal_tissue_as_in_an_argmax(tables):
    text = submission(OFFICIAL, tables, 0)["camelyon17_split:test_seed:0_epoch:best_pred.csv"]
    half = tables["test"].prob[:, 1] == 0.5
    assert half.any()
    assert {line for line, even in zip(text.split(), half, strict=True) if even} == {"0"}


def test_other_splits_than_the_official_ones_are_refused(tables):
    with pytest.raises(InputError, match=r"data\.split_scheme is mixed-to-test"):
        submission(SimpleNamespace(split_scheme="mixed-to-test"), tables, 0)
