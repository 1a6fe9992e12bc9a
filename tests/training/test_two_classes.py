"""Two classes while training: the named class is scored, and an older run resumes unchanged."""

import pytest
import torch

from medldr.folders.files import load_tensors
from medldr.folders.lifecycle import Interrupted

TWO = {"data.classes": 2, "training.epochs": 3, "training.select": ("val_auc", "last")}


def test_validation_is_of_the_named_class(train, rows_of):
    second = rows_of(train(TWO, "second").folder)
    first = rows_of(train({**TWO, "evaluation.positive_class": "a"}, "first").folder)
    for one, other in zip(first, second, strict=True):
        assert one["val/sensitivity"] == other["val/specificity"]
        assert one["val/specificity"] == other["val/sensitivity"]
        assert one["val/auc"] == pytest.approx(other["val/auc"], abs=1e-12)
        assert one["val/loss"] == other["val/loss"]
    assert any(row["val/sensitivity"] != row["val/specificity"] for row in second)


def test_a_run_that_began_as_multi_class_resumes_to_the_same_weights(
    train, rows_of, stop_after, monkeypatch
):
    whole = train(TWO, "whole")
    with monkeypatch.context() as before:
        before.setattr("medldr.data.spec.task_of", lambda table: "multi-class")
        with stop_after(8), pytest.raises(Interrupted):
            train(TWO, "older")
    resumed = train(TWO, "older")
    assert resumed.data.spec.task == "binary"
    for rule in ("val_auc", "last"):
        ours, theirs = (
            load_tensors(run.folder.selected(rule)) for run in (resumed, whole)
        )  # fmt: skip
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    began, *rest = rows_of(resumed.folder)
    expected = rows_of(whole.folder)
    assert rest == expected[1:]
    assert began["val/brier"] == pytest.approx(2 * expected[0]["val/brier"])
    (note,) = [note for note in resumed.fitted.notes if "two classes" in note]
    assert "val/brier in metrics.jsonl is that of both classes up to here" in note
    assert not [note for note in whole.fitted.notes if "two classes" in note]
