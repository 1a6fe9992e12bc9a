"""Predictions to judge, made by value, and run folders that hold them."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate, join, predictions_of, write_predictions


@pytest.fixture
def make():
    """Random predictions that are better than chance, with ties where `decimals` is given."""

    def build(task="multi-class", n=60, k=3, seed=0, *, decimals=None, missing=0.0, **texts):
        rng = np.random.default_rng(seed)
        if task == "multi-label":
            label = rng.integers(0, 2, (n, k)).astype(float)
            prob = 1 / (1 + np.exp(-rng.normal(size=(n, k)) - 1.2 * label + 0.6))
            label[rng.random((n, k)) < missing] = np.nan
        else:
            k = 2 if task == "binary" else k
            label = rng.integers(0, k, n)
            logits = rng.normal(size=(n, k))
            logits[np.arange(n), label] += 1.0
            prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        table = predictions_of(task, label, prob, **texts)
        # Rounded ones need not sum to one.
        return table if decimals is None else replace(table, prob=prob.round(decimals))

    return build


def write_run(parent, name, tables, *, label="erm", identity="aaaaaaaa", seed=0, status="done",
              **more):  # fmt: skip
    """The files of a finished run that comparison reads."""
    folder = parent / name
    folder.mkdir()
    seen, shared = more.pop("seen", ()), more.pop("shared", ())
    selection = more.pop("selection", {"rule": "last", "oracle": False})
    config = EvaluationConfig(draws=more.pop("draws", 200), **more.pop("config", {}))
    record = {"status": status, "error": None, "label": label, "hash": identity, "seed": seed}
    record |= {"precision": "float32", "data_hash": "d", "split_hash": "s", "protocol": "p"}
    (folder / "run.json").write_text(json.dumps(record | more))
    if status == "done":
        write_predictions(folder / "predictions.csv", join(list(tables.values())))
        scored = evaluate(tables, config, selection=selection, seen=seen, shared=shared)
        (folder / "evaluation.json").write_text(json.dumps(scored, allow_nan=False))
    return folder


@pytest.fixture
def run_folder(tmp_path):
    """Write a run below a folder of this test."""
    return partial(write_run, tmp_path)


@pytest.fixture(scope="module")
def kept_run_folder(tmp_path_factory):
    """Write a run that all tests of a file may read."""
    return partial(write_run, tmp_path_factory.mktemp("runs"))
