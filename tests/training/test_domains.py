"""A run with held-out domains, from its splits to its numbers, checked against scikit-learn."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, log_loss

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.run import train_run
from medldr.training import validation

DATA = {
    "name": "tiny_lab.dataset",
    "own_splits": False,
    "sites": 4,
    "train": 103,
    "split_rule": "domainbed",
    "val_fraction": 0.2,
    "held_out": ["site1", "site3"],
}
CHANGES = {
    "data": DATA,
    "training.select": ("last", "val_domain_accuracy", "val_domain_loss", "oracle_out_accuracy"),
    "evaluation": {"draws": 100, "oracle": True, "domain_curves": True, "batch_size": 7},
    "training.batch_size": 8,
    "machine": {"device": "cpu", "threads": 1, "report": False},
}
PROBS = ["prob_a", "prob_b", "prob_c"]


def accuracy(rows):
    return accuracy_score(rows.label, rows[PROBS].to_numpy().argmax(axis=1))


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A finished run and what it left: curves, predictions (by the last weights), evaluation."""
    import importlib

    config = importlib.import_module("tiny_lab.runs").make_config(CHANGES)
    result = train_run(config, tmp_path_factory.mktemp("runs"))
    folder = RunFolder(result.folder)
    lines = folder.metrics.read_text().splitlines()
    return SimpleNamespace(
        result=result,
        folder=folder,
        rows=[json.loads(line) for line in lines],
        table=pd.read_csv(folder.predictions, keep_default_na=False),
        evaluation=json.loads(folder.evaluation.read_text()),
        record=json.loads(folder.run.read_text()),
        splits=json.loads(folder.splits.read_text()),
    )


def test_validation_means_weigh_each_seen_domain_the_same(done):
    last, of_val = done.rows[-1], done.table[done.table.split == "id_val"]
    domains = [rows for _, rows in of_val.groupby("domain")]
    assert len(domains) == 2
    mean = np.mean([accuracy(rows) for rows in domains])
    loss = np.mean([log_loss(rows.label, rows[PROBS], labels=[0, 1, 2]) for rows in domains])
    assert last["val/domain_accuracy"] == pytest.approx(mean, abs=1e-12)
    assert last["val/domain_loss"] == pytest.approx(loss, abs=1e-12)


def test_curves_show_each_held_out_domain_and_its_parts(done):
    test = done.table[done.table.split == "test"]
    expected = {}
    for domain, rows in test.groupby("domain"):
        expected[f"held_out/{domain}/accuracy"] = accuracy(rows)
        for part, few in rows.groupby("part"):
            expected[f"held_out/{domain}/{part}/accuracy"] = accuracy(few)
    last = {k: v for k, v in done.rows[-1].items() if k.startswith("held_out/")}
    assert last == pytest.approx(expected, abs=1e-12)
    assert len(expected) == 6
    assert all(set(expected) <= set(row) for row in done.rows)
    out = accuracy(test[test.part == "target_out"])
    assert done.rows[-1]["oracle_out/accuracy"] == pytest.approx(out, abs=1e-12)


def test_evaluation_and_result_hold_both_target_definitions(done):
    test = done.table[done.table.split == "test"]
    scored = done.evaluation["splits"]["test"]
    for part in ("target_in", "target_out"):
        rows = test[test.part == part]
        number = scored["parts"][part]["metrics"]["accuracy"]
        assert scored["parts"][part]["items"] == len(rows)
        assert number["value"] == pytest.approx(accuracy(rows), abs=1e-12)
        assert number["low"] <= number["value"] <= number["high"]
        assert done.result.metrics[f"test/{part}/accuracy"] == number["value"]
    assert done.result.metrics["test/accuracy"] == pytest.approx(accuracy(test), abs=1e-12)
    assert "parts" not in done.evaluation["splits"]["id_val"]


def test_the_record_says_who_looked_at_held_out_domains(done):
    notes = done.record["notes"]
    [curves] = [note for note in notes if note.startswith("evaluation.domain_curves")]
    assert "(site1, site3) were scored at every validation" in curves
    assert "no rule of this run reads these scores" in curves
    assert any("oracle_out_accuracy chose on the target_out rows" in note for note in notes)


def test_only_the_part_that_an_oracle_needs_is_read_and_the_test_split_once(train, monkeypatch):
    read, predict = [], validation.predict_each

    def noted(*args, split, **keys):
        (table,) = predict(*args, split=split, **keys)
        read.append((split, len(table)))
        return [table]

    monkeypatch.setattr(validation, "predict_each", noted)
    oracle = {"data": DATA, "training.epochs": 1, "evaluation.oracle": True}
    for number, (rules, curves, expected) in enumerate(
        [
            (("oracle_out_accuracy",), False, [("id_val", 12), ("target_out", 12)]),
            (("oracle_out_accuracy", "oracle_auc"), True, [("id_val", 12), ("test", 60)]),
            (("last",), True, [("id_val", 12), ("test", 60)]),
            (("val_domain_loss",), False, [("id_val", 12)]),
        ]
    ):
        read.clear()
        changes = {**oracle, "training.select": rules, "evaluation.domain_curves": curves}
        train(changes, f"run{number}")
        assert read == expected


def test_without_a_held_out_domain_there_are_no_curves(train):
    with pytest.raises(InputError, match=r"domain_curves: no domain is held out.*data\.held_out"):
        train({"evaluation.domain_curves": True})


def test_a_rule_over_domains_needs_domains(train, rows_of):
    with pytest.raises(InputError, match=r"val_domain_loss is a mean over.*Use val_loss"):
        train({"data.sites": 0, "training.select": ("val_domain_loss",)})
    run = train({"data.sites": 0, "training.epochs": 1}, "plain")
    assert not [key for key in rows_of(run.folder)[0] if "domain" in key]


def test_an_oracle_of_the_part_held_back_needs_that_part(train):
    changes = {"training.select": ("oracle_out_accuracy",), "evaluation.oracle": True}
    with pytest.raises(InputError, match="needs 'target_out', but the data has only"):
        train(changes)
