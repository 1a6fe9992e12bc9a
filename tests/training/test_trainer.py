"""What a run leaves behind, and what it does when something goes wrong on the way."""

import math
import signal

import numpy as np
import pytest
import torch

from medldr.evaluation import score
from medldr.evaluation.predictions.predict import predict_each
from medldr.folders.files import load_checkpoint, load_tensors
from medldr.folders.lifecycle import Interrupted
from medldr.training import NonFiniteError
from medldr.training import trainer as trainer_module
from medldr.training import validation as validation_module


@pytest.fixture
def poisoned():
    """The algorithm whose loss goes wrong at a chosen call; its calls are counted from 0 again."""
    from medldr import plugins

    module = plugins.load("algorithms", "tiny_lab.poisoned")
    module.Poisoned.calls = 0
    return module.Poisoned


@pytest.fixture
def rates(monkeypatch):
    """Learning rate of every step made."""
    seen = []
    set_lr = trainer_module.set_lr

    def noted(optimizers, factor):
        seen.append(set_lr(optimizers, factor))
        return seen[-1]

    monkeypatch.setattr(trainer_module, "set_lr", noted)
    return seen


@pytest.fixture
def scored(monkeypatch):
    """Names of the splits scored while training, and a way to set their scores."""
    state = {"splits": [], "rows": [], "auc": None}

    def noted(*args, split, **keys):
        state["splits"].append(split)
        return predict_each(*args, split=split, **keys)

    def faked(predictions, positive):
        state["rows"].append(len(predictions))
        found = score(predictions)
        return found | {"auc": next(state["auc"])} if state["auc"] else found

    monkeypatch.setattr(validation_module, "predict_each", noted)
    monkeypatch.setattr(validation_module, "score", faked)
    return state


def test_a_run_writes_one_row_per_evaluation_and_the_selected_weights(train, rows_of):
    run = train({"training.select": ("val_auc", "val_loss", "last")})
    rows = rows_of(run.folder)
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    assert [row["step"] for row in rows] == [5, 10, 15]
    keys = {"lr", "train/loss", "train/accuracy", "val/loss", "val/accuracy", "val/auc"}
    assert keys <= set(rows[0])
    assert all(type(row[key]) is float for row in rows for key in keys)
    for rule, column, best in (("val_auc", "val/auc", max), ("val_loss", "val/loss", min)):
        chosen = run.fitted.selections[rule]
        values = [row[column] for row in rows]
        assert chosen.value == best(values)
        assert chosen.epoch == values.index(chosen.value) + 1
        assert chosen.step == 5 * chosen.epoch
        assert (chosen.split, chosen.oracle) == ("val", False)
    assert run.fitted.reported.rule == "val_auc"
    assert run.folder.model.read_bytes() == run.folder.selected("val_auc").read_bytes()
    last = load_tensors(run.folder.selected("last"))
    assert set(last) == set(run.model.state_dict())
    for name, value in run.model.state_dict().items():
        assert torch.equal(value.cpu(), last[name])


@pytest.mark.parametrize("accumulate", [2])
def test_a_method_that_mixes_labels_logs_its_own_accuracy_in_place_of_the_plain_one(
    accumulate, train, rows_of
):
    run = train({"algorithm.name": "mixup", "training.accumulate": accumulate})
    for row in rows_of(run.folder):
        assert "train/accuracy" not in row
        assert row["train/loss"] == row["train/loss/mixed"]
        assert 0 < row["train/lambda"] < 1
        assert 0 <= row["train/accuracy/mixed"] <= 1
        assert 0 <= row["val/accuracy"] <= 1


def test_the_weights_that_were_validated_are_the_ones_saved(train):
    averaging = {"training.averaging": {"decay": 0.9}, "training.select": ("last",)}
    for changes in ({"training.select": ("last",)}, averaging):
        run = train(changes, "a" if changes is averaging else "b")
        run.model.load_state_dict(load_tensors(run.folder.model))
        loader = run.data.eval_loader("val", run.config, device="cpu")
        keys = {"spec": run.data.spec, "table": run.data.table, "split": "val"}
        found = score(*predict_each([run.model], loader, **keys))
        assert found["loss"] == pytest.approx(run.fitted.history[-1]["val/loss"], rel=1e-6)


def test_only_splits_that_rules_need_are_scored_and_the_test_split_only_by_an_oracle(
    train, scored, rows_of
):
    both = {"data.kind": "both", "training.epochs": 1}
    train({**both, "training.select": ("last",)}, "a")
    assert scored["splits"] == ["val"]
    train({**both, "training.select": ("val_auc", "id_val_auc")}, "b")
    assert scored["splits"] == ["val", "val", "id_val"]
    train({"data.kind": "none", "training.select": ("last",), "training.epochs": 1}, "c")
    assert "test" not in scored["splits"]
    oracle = {"training.select": ("oracle_accuracy",), "evaluation.oracle": True}
    run = train({**oracle, "training.epochs": 1}, "d")
    assert scored["splits"][-1] == "test"
    assert "oracle/accuracy" in rows_of(run.folder)[0]
    assert run.fitted.reported.oracle
    assert run.fitted.reported.split == "test"


@pytest.mark.parametrize(
    ("length", "every", "offset", "steps"),
    [
        ("steps=11", 4, 0, [4, 8, 11]),
        ("steps=11", 4, 1, [1, 5, 9, 11]),
        ("epochs=5", 2, 0, [10, 20, 25]),
    ],
)
def test_validations_come_as_asked_and_after_the_last_step(
    train, rows_of, length, every, offset, steps
):
    key, _, number = length.partition("=")
    plan = {"training.evaluate_every": every, "training.evaluate_offset": offset}
    rows = rows_of(train({f"training.{key}": int(number), **plan}).folder)
    assert [row["step"] for row in rows] == steps
    assert [row["epoch"] for row in rows] == [-(-step // 5) for step in steps]


def test_early_stopping_ends_the_run_and_it_stays_ended(train, scored, rows_of):
    changes = {"training.epochs": 9, "training.early_stopping": 2}
    scored["auc"] = iter([0.5, 0.6, 0.6, 0.2, 0.9, 0.9])
    run = train(changes)
    assert run.fitted.stopped_early
    assert [row["val/auc"] for row in rows_of(run.folder)] == [0.5, 0.6, 0.6, 0.2]
    assert run.fitted.reported.epoch == 2
    again = train(changes)
    assert again.fitted.stopped_early
    assert len(rows_of(run.folder)) == 4


# Small data


def test_a_lone_last_image_does_not_end_training_and_is_counted_in_evaluation(train, scored):
    run = train({"data.train": 33, "data.val": 9, "training.batch_size": 4})
    assert run.fitted.steps == 3 * 8
    assert any("33" in note for note in (*run.fitted.notes, *run.data.notes))
    small = {"data.train": 33, "data.val": 9, "training.batch_size": 4, "evaluation.batch_size": 4}
    other = train(small, "small evaluation batches, the last of one image")
    assert scored["rows"] == [9] * 6
    for one, two in zip(run.fitted.history, other.fitted.history, strict=True):
        assert one["val/loss"] == pytest.approx(two["val/loss"], rel=1e-6)


def test_data_smaller_than_a_batch_is_one_batch_with_a_note(train):
    run = train({"data.train": 8, "training.batch_size": 32, "training.drop_last": True})
    assert run.fitted.steps == 3
    assert run.fitted.facts["batch_size"] == 8
    assert any("8" in note and "32" in note for note in run.fitted.notes)


# Class weights


def test_class_weights_reach_the_loss_and_stay_out_of_checkpoints(train):
    run = train({"training.class_weights": "balanced", "data.train": 22})
    counts = np.bincount(np.arange(22) % 3)
    np.testing.assert_allclose(run.algorithm.class_weights, 22 / (3 * counts), rtol=1e-6)
    assert load_checkpoint(run.folder.last)["shared"]["algorithm"] == {}


# Finished epochs


def test_a_finished_run_is_left_as_it_is(train, rates):
    run = train()
    files = {p: p.read_bytes() for p in run.folder.path.rglob("*") if p.is_file()}
    made = len(rates)
    again = train()
    assert len(rates) == made
    assert {p: p.read_bytes() for p in run.folder.path.rglob("*") if p.is_file()} == files
    assert again.fitted.selections == run.fitted.selections
    assert again.fitted.history == run.fitted.history


def test_rows_written_after_the_last_checkpoint_are_not_doubled(train, rows_of, monkeypatch):
    whole = train(name="whole")
    saves = []

    def killed(self):
        saves.append(1)
        if len(saves) == 2:
            raise KeyboardInterrupt
        save(self)

    save = trainer_module.Trainer.save
    with monkeypatch.context() as patch:
        patch.setattr(trainer_module.Trainer, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            train(name="killed")
    run = train(name="killed")
    assert rows_of(run.folder) == rows_of(whole.folder)
    assert run.folder.model.read_bytes() == whole.folder.model.read_bytes()


# Signals


@pytest.mark.parametrize(("signum", "call"), [(signal.SIGINT, 1), (signal.SIGTERM, 6)])
def test_a_signal_stops_at_the_next_step_with_a_state_to_go_on_from(
    train, rows_of, poisoned, signum, call
):
    handlers = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)]
    algorithm = {"name": "tiny_lab.poisoned", "signal_at": call, "signum": int(signum)}
    with pytest.raises(Interrupted) as caught:
        train({"algorithm": algorithm}, "broken")
    assert (caught.value.signum, caught.value.resumable) == (signum, True)
    assert [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)] == handlers
    poisoned.calls = 1000
    resumed = train({"algorithm": algorithm}, "broken")
    assert any(f"resumed after step {call + 1} of 15" in n for n in resumed.fitted.notes)
    whole = train({"algorithm": algorithm}, "whole")
    assert rows_of(resumed.folder) == rows_of(whole.folder)
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


# Numbers that are not finite


def test_a_nan_stops_the_run_and_keeps_the_last_good_checkpoint(train, rows_of, poisoned):
    algorithm = {"name": "tiny_lab.poisoned", "nan_at": 7}
    with pytest.raises(NonFiniteError, match=r"at step 8 \(term: loss.*Samples of this batch: img"):
        train({"algorithm": algorithm})
    poisoned.calls = 1000
    run = train({"algorithm": algorithm})  # a cured cause: it resumes from the last good state
    assert any("resumed after step 5 of 15" in note for note in run.fitted.notes)
    assert [row["epoch"] for row in rows_of(run.folder)] == [1, 2, 3]


def test_weights_that_became_nan_are_never_saved(train, poisoned, tmp_path):
    algorithm = {"name": "tiny_lab.poisoned", "nan_at": 9, "nan_what": "weights"}
    with pytest.raises(NonFiniteError, match="weights are not finite after step 10"):
        train({"algorithm": algorithm})
    saved = load_checkpoint(tmp_path / "run" / "checkpoints" / "last.ckpt")
    assert saved["position"]["step"] == 5
    assert torch.isfinite(saved["shared"]["model"]["head.bias"]).all()


@pytest.mark.parametrize(
    ("values", "epoch"), [([math.nan, 0.2, 0.1], 2), ([0.2, math.nan, 0.1], 1)]
)
def test_a_metric_that_is_nan_never_selects(train, scored, rows_of, values, epoch):
    scored["auc"] = iter(values)
    run = train()
    assert run.fitted.reported.epoch == epoch
    expected = [None if math.isnan(v) else v for v in values]
    assert [row["val/auc"] for row in rows_of(run.folder)] == expected


def test_a_metric_that_is_never_defined_is_noted_and_weights_are_kept(train, scored):
    scored["auc"] = iter([None, None, None])
    run = train()
    assert run.fitted.reported.value is None
    assert run.folder.model.exists()
    assert any("val_auc was undefined at every evaluation" in n for n in run.fitted.notes)


# time


def test_long_epochs_are_saved_in_between(train, monkeypatch):
    steps = []
    save = trainer_module.Trainer.save

    def noted(self):
        steps.append(self.step.index)
        save(self)

    monkeypatch.setattr(trainer_module.Trainer, "save", noted)
    train({"training.epochs": 1, "training.checkpoint_minutes": 1e-9})
    assert steps == [1, 2, 3, 4, 5, 5]


def test_seconds_of_earlier_starts_count(train, stop_after, tmp_path):
    with stop_after(5), pytest.raises(Interrupted):
        train()
    path = tmp_path / "run" / "checkpoints" / "last.ckpt"
    saved = load_checkpoint(path)
    saved["position"]["seconds"] = 1000.0
    torch.save(saved, path)
    assert [row["time_s"] > 1000 for row in train().fitted.history] == [False, True, True]


def test_a_loader_that_ends_early_is_a_fault_and_no_endless_loop(train):
    from medldr.data.loading.loaders import TrainLoader

    batches = TrainLoader.batches

    def shorter(self, epoch, start=0):
        return iter(list(batches(self, epoch, start))[:2])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainLoader, "batches", shorter)
        with pytest.raises(RuntimeError, match="ended epoch 1 early"):
            train()
