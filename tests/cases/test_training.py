"""Group d of the cases: batches, imbalance, randomness, stops, full disks, NaN, checkpoints."""

import json
import math
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import medldr as package
from medldr.config import load_config
from medldr.data import build_data
from medldr.folders.files import load_tensors
from medldr.training import validation


def test_a_lone_last_image_ends_no_epoch(train, rows, the_run, history):
    given = rows(train="01" * 16 + "0", val="01010", test="01010")
    ended = train("training.drop_last=false", given=given)
    assert ended.code == 0, ended.err
    assert "33 training images in batches of 4 leave a last batch of one" in ended.err
    assert [row["step"] for row in history(the_run())] == [8, 16]
    scored = json.loads(the_run().evaluation.read_text())["splits"]
    assert (scored["val"]["n"], scored["test"]["n"]) == (5, 5)
    assert len(pd.read_csv(the_run().predictions)) == 10


def test_five_grades_can_select_by_their_kappa_and_other_classes_cannot(train, rows, the_run, out):
    graded = {"classes": list("01234"), "task": "ordinal"}
    keys = {"given": rows(train="01234" * 4, val="0123401234", test="01234"), "data": graded}
    words = ("training.select=[val_quadratic_kappa,val_mae]", "training.early_stopping=1")
    refused = train(*words, **{**keys, "data": {**graded, "task": "multi-class"}})
    assert refused.code == 2
    assert "training.select: val_quadratic_kappa is of ordinal labels" in refused.err
    assert not list(out.glob("*/metrics.jsonl"))
    shutil.rmtree(out)
    ended = train(*words, **keys)
    assert ended.code == 0, ended.err
    chosen = json.loads((the_run().path / "run.json").read_text())["selection"]
    assert chosen["rule"] == "val_quadratic_kappa"


def test_a_lone_last_image_of_an_evaluation_counts(train, the_run):
    assert train("evaluation.batch_size=3").code == 0  # 4 rows: a batch of 3, then one of 1
    assert json.loads(the_run().evaluation.read_text())["splits"]["test"]["n"] == 4


def test_batch_size_one_is_refused_at_the_start(train, out):
    ended = train("training.batch_size=1")
    assert ended.code == 2
    assert "training.batch_size" in ended.err
    assert not list(out.glob("*/metrics.jsonl"))


@pytest.mark.parametrize("drop_last", ["true", "false"])
def test_fewer_images_than_a_batch_are_one_batch(drop_last, train, the_run, history):
    ended = train("training.batch_size=32", f"training.drop_last={drop_last}")
    assert ended.code == 0, ended.err
    assert "training.batch_size is 32, but there are 8 training images" in ended.err
    assert [row["step"] for row in history(the_run())] == [1, 2]
    assert all(row["train/loss"] > 0 for row in history(the_run()))


@pytest.mark.parametrize(
    ("labels", "names", "told"),
    [("0101", ["a", "b", "c"], "class 'c'"), ("0000", ["a", "b"], "class 'b'")],
    ids=["a class without rows", "all one class"],
)
def test_balanced_weights_are_finite_without_rows_of_a_class(
    labels, names, told, train, rows, the_run, history
):
    keys = {"given": rows(train=labels * 2, val="01", test="01"), "data": {"classes": names}}
    refused = train("training.class_weights=balanced", **keys)
    assert refused.code == 2
    assert f"{told} of cases: 0 training rows" in refused.err
    assert "data.allow_missing_classes" in refused.err
    ended = train(
        "training.class_weights=balanced", "data.allow_missing_classes=true", "label=x", **keys
    )
    assert ended.code == 0, ended.err
    assert f"{told} of cases: 0 training rows" in ended.err


@pytest.mark.parametrize("algorithm", ["erm", "latentdr_pool"])
def test_weights_and_losses_stay_finite(algorithm, train, write, rows, the_run, history):
    # Soft labels, as LatentDR's, multiply every class's weight, also that of an absent one.
    keys = {
        "given": rows(train="01010101", val="01", test="01"),
        "data": {"classes": ["a", "b", "c"], "allow_missing_classes": True},
        "training": {"class_weights": "balanced"},
    }
    config = load_config(write(**keys))
    weights = build_data(config).class_weights("balanced")
    assert weights.isfinite().all()
    assert weights[:2].tolist() == [1, 1]
    ended = train(f"algorithm={algorithm}", **keys)
    assert ended.code == 0, ended.err
    assert all(np.isfinite(row["train/loss"]) for row in history(the_run()))
    assert all(t.isfinite().all() for t in load_tensors(the_run().model).values())


@pytest.mark.parametrize(
    "subset",
    [{"train_fraction": 0.3}, {"exclude": [f"item{row:02d}" for row in range(24)]}],
    ids=["train_fraction", "exclude"],
)
def test_weights_are_of_the_rows_that_are_used(subset, train, write, rows, the_run):
    given = rows(train="0001" * 10, val="01", test="01")
    path = write(given, data=subset, training={"sampler": "weighted"})
    config = load_config(path)
    data = build_data(config)
    used = set(data.rows["train"].tolist())
    assert 9 <= len(used) <= 16
    loader = data.train_loader(config, sampler="weighted", device="cpu")
    drawn = [batch for epoch in range(60) for batch in loader.batches(epoch)]
    assert {int(row) for batch in drawn for row in batch.index} <= used
    share = torch.cat([batch.label for batch in drawn]).double().mean().item()
    assert share == pytest.approx(0.5, abs=0.08)  # 1 of 4 in the table
    ended = train(given=given, data=subset, training={"sampler": "weighted"})
    assert ended.code == 0, ended.err
    assert sum(json.loads(the_run().run.read_text())["spec"]["class_counts"]) == len(used)


@pytest.mark.parametrize("workers", [0, 3])
def test_no_two_samples_or_epochs_are_augmented_alike(workers, write, rows):
    transforms = [{"RandGaussianNoise": {"prob": 1.0}}, {"RandFlip": {"prob": 0.5}}]
    path = write(
        rows(train="01" * 6, val="01", test="01"),
        data={"equal": True},
        transform={"train": transforms},
        machine={"workers": workers},
    )
    config = load_config(path)

    def epochs():
        loader = build_data(config).train_loader(config, sampler="shuffle", device="cpu")
        return [
            image.numpy().tobytes()
            for epoch in (0, 1)
            for batch in loader.batches(epoch)
            for image in batch.image
        ]

    seen = epochs()
    assert len(seen) == len(set(seen)) == 24
    assert epochs() == seen


PER_STEP = {"steps": 12, "epochs": None, "evaluate_every": 1, "warmup": 3}
PER_EPOCH = {"epochs": 6, "warmup": 2}


def cosine(length, warmup):
    """Worked rates: up in equal parts, then half a cosine, from a highest rate of 0.01."""
    up = [0.01 * (k + 1) / warmup for k in range(warmup)]
    rest = length - warmup
    return up + [0.005 * (1 + math.cos(math.pi * k / rest)) for k in range(rest)]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(PER_STEP, cosine(12, 3)), (PER_EPOCH, cosine(6, 2))],
    ids=["by steps", "by epochs"],
)
def test_the_learning_rate_goes_on_where_it_was(keys, expected, train, history, the_run, disturb):
    keys = {"training": {**keys, "schedule": "cosine"}}
    disturb(5, lambda batch: signal.raise_signal(signal.SIGTERM))
    assert train(**keys).code == 143
    ended = train(**keys)
    assert ended.code == 0, ended.err
    assert "resumed after step 6 of 12" in ended.err
    rates = [row["lr"] for row in history(the_run())]
    assert rates == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_resuming_runs_exactly_the_epochs_that_are_left(train, the_run, history, disturb):
    keys = {"training": {"epochs": 4}}
    disturb(3, lambda batch: signal.raise_signal(signal.SIGINT))  # the last batch of epoch 2
    assert train(**keys).code == 130
    assert [row["epoch"] for row in history(the_run())] == [1, 2]
    trained = []
    disturb(0, lambda batch: trained.append(batch))
    ended = train(**keys)
    assert ended.code == 0
    assert "resumed after step 4 of 8" in ended.err
    assert [row["epoch"] for row in history(the_run())] == [1, 2, 3, 4]
    assert [row["step"] for row in history(the_run())] == [2, 4, 6, 8]


def test_a_finished_run_says_so_and_changes_nothing(train, the_run):
    assert train().code == 0
    before = {p: p.read_bytes() for p in the_run().path.rglob("*") if p.is_file()}
    ended = train()
    assert ended.code == 0
    assert "had already finished" in ended.out
    assert before == {p: p.read_bytes() for p in the_run().path.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    ("size", "named"),
    [(100_000, "selected/last.safetensors"), (900_000, "checkpoints/last.ckpt")],
    ids=["weights", "checkpoint"],
)
def test_a_full_disk_at_the_last_epoch_costs_nothing_that_was_there(
    size, named, train, write, tmp_path, the_run, history, disturb, full_disk
):
    keys = {"training": {"epochs": 3, "select": ["last"], "momentum": 0.9}}
    whole = package.train(write(**keys), out=tmp_path / "whole")
    with full_disk() as fill:
        disturb(4, lambda batch: fill(size))  # the first batch of epoch 3
        ended = train(**keys)
    assert ended.code == 2
    assert "no space left" in ended.err
    assert named in ended.err
    assert "bytes needed" in ended.err
    assert "Traceback" not in ended.err
    saved = torch.load(the_run().last, weights_only=True)
    assert saved["position"]["step"] == 4
    assert [row["epoch"] for row in history(the_run())][:2] == [1, 2]
    assert not list(the_run().path.rglob("*.tmp"))
    assert train(**keys).code == 0
    assert [row["epoch"] for row in history(the_run())] == [1, 2, 3]
    assert the_run().model.read_bytes() == (whole.folder / "model.safetensors").read_bytes()


def test_a_full_disk_at_the_start_is_one_message(medldr, write, out, full_disk):
    path = write()
    for size in (10, 300):
        with full_disk() as fill:
            fill(size)
            ended = medldr("train", path, "--out", out)
        assert ended.code == 2
        assert "no space left" in ended.err
        assert "Traceback" not in ended.err
    assert medldr("train", path, "--out", out).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "at"), [(signal.SIGINT, 1), (signal.SIGTERM, 5)])
def test_a_signal_ends_the_run_with_one_line_and_a_state_to_go_on_from(
    number, at, train, rows, the_run, history, disturb
):
    keys = {
        "given": rows(train="01" * 8, val="01", test="01"),
        "transform": {"train": ["RandFlip"]},
        "machine": {"workers": 2},
    }
    disturb(at, lambda batch: signal.raise_signal(number))
    ended = train(**keys)
    assert ended.code == 128 + number
    said = [line for line in ended.err.splitlines() if not line.startswith("epoch ")]
    assert said == [f"stopped by {number.name}. Run the same command to resume"]
    assert json.loads(the_run().run.read_text())["status"] == "interrupted"
    assert [row["epoch"] for row in history(the_run())] == [1][: at // 4]
    assert multiprocessing.active_children() == []
    ended = train(**keys)
    assert ended.code == 0
    assert f"resumed after step {at + 1} of 8" in ended.err
    assert [row["epoch"] for row in history(the_run())] == [1, 2]


def test_a_second_ctrl_c_stops_at_once(train, the_run, disturb):
    def twice(batch):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    disturb(1, twice)
    ended = train()
    assert ended.code == 130
    assert ended.err.splitlines()[-1] == "stopped"
    assert json.loads(the_run().run.read_text())["status"] == "interrupted"
    assert train().code == 0


def test_a_stop_on_a_full_disk_is_still_a_stop(train, the_run, disturb, full_disk):
    with full_disk() as fill:

        def stop(batch):
            fill(10)
            signal.raise_signal(signal.SIGTERM)

        disturb(0, stop)
        ended = train()
    assert ended.code == 143
    assert "start over" in ended.err
    assert train().code == 0


def test_checkpoints_hold_tensors_and_plain_values(train, the_run):
    assert train("data.class_names=[no, 'yes, <b>']").code == 0
    for path in (the_run().last, the_run().best):
        state = torch.load(path, weights_only=True)
        assert {type(v) for row in state["shared"]["history"]["rows"] for v in row.values()} <= {
            *(int, float, type(None))
        }


class Harm:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_foreign_pickle_is_refused_and_not_run(train, the_run, disturb, tmp_path):
    disturb(2, lambda batch: signal.raise_signal(signal.SIGTERM))
    train()
    harm = tmp_path / "harm"
    content = pickle.dumps(Harm(harm))
    for path in the_run().checkpoints.iterdir():
        path.write_bytes(content)
    ended = train()
    assert ended.code == 2
    assert f"{the_run().last} is refused" in ended.err
    assert "could execute code" in ended.err
    assert "weights_only" not in ended.err  # torch's advice is to load it all the same
    assert not harm.exists()
    assert train("--restart").code == 0


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(train, the_run, disturb):
    disturb(2, lambda batch: signal.raise_signal(signal.SIGTERM))
    train()
    os.truncate(the_run().last, 1000)
    ended = train()
    assert ended.code == 0
    assert f"{the_run().last} is not a whole checkpoint" in ended.err
    assert f"resuming from {the_run().before} instead" in ended.err
    assert "resumed after step 2 of 4" in ended.err


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_nan_stops_the_run_and_names_step_and_samples(
    precision, train, the_run, history, disturb
):
    keys = {"training": {"epochs": 3, "precision": precision}}
    spoilt = []

    def spoil(batch):
        spoilt.extend(f"item{row:02d}" for row in batch.index.tolist())
        return batch._replace(image=batch.image * float("nan"))

    disturb(3, spoil)  # the second batch of epoch 2
    ended = train(**keys)
    assert ended.code == 2
    assert "not finite at step 4" in ended.err
    assert all(name in ended.err for name in spoilt)
    assert [row["epoch"] for row in history(the_run())] == [1]
    for path in (the_run().last, the_run().best):
        state = torch.load(path, weights_only=True)
        assert state["position"]["step"] == 2
        assert all(t.isfinite().all() for t in state["shared"]["model"].values())
    assert json.loads(the_run().run.read_text())["status"] == "failed"
    assert train(**keys).code == 0  # without the bad batch the run continues


@pytest.mark.parametrize(
    ("values", "chosen"),
    [
        ((None, 0.4, float("nan"), 0.3), (2, 0.4)),
        ((float("nan"), None, 0.2, float("nan")), (3, 0.2)),
        ((None, float("nan"), float("nan"), None), (1, None)),
    ],
    ids=["at first", "all but one", "all"],
)
def test_a_finite_value_beats_an_undefined_one(values, chosen, train, the_run, monkeypatch):
    score, left = validation.score, iter(values)
    monkeypatch.setattr(validation, "score", lambda *p: score(*p) | {"auc": next(left)})
    assert train("training.epochs=4").code == 0
    selection = json.loads(the_run().run.read_text())["selection"]
    assert (selection["epoch"], selection["value"]) == chosen
    assert "NaN" not in the_run().metrics.read_text()


def test_a_validation_of_one_class_is_told_before_the_first_epoch(train, rows, the_run):
    ended = train(given=rows(train="0101", val="00", test="01"))
    assert ended.code == 0
    first, *later = ended.err.splitlines()
    assert "val_auc cannot be measured" in first
    assert "val AUC undefined" in later[-1]
    selection = json.loads(the_run().run.read_text())["selection"]
    assert (selection["epoch"], selection["value"]) == (1, None)


@pytest.mark.slow
def test_two_processes_count_every_row_once(write, rows, out, the_run, medldr):
    path = write(
        rows(train="01010101", val="0101", test="01010"),
        training={"epochs": 1},
        machine={"devices": 2, "threads": 1},
    )
    done = subprocess.run(
        [sys.executable, "-m", "medldr.cli", "train", path, "--out", out],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    both = pd.read_csv(the_run().predictions)
    scored = json.loads(the_run().evaluation.read_text())["splits"]["test"]
    assert scored["n"] == (both["split"] == "test").sum() == both["id"][4:].nunique() == 5
    assert medldr("evaluate", the_run().path, "--device", "cpu").code == 0  # by one process
    alone = pd.read_csv(the_run().predictions)
    assert both["id"].tolist() == alone["id"].tolist()
    np.testing.assert_allclose(both.filter(like="prob_"), alone.filter(like="prob_"), atol=1e-6)
    again = json.loads(the_run().evaluation.read_text())["splits"]["test"]
    for metric in ("accuracy", "auc"):
        assert scored["metrics"][metric]["value"] == again["metrics"][metric]["value"]
