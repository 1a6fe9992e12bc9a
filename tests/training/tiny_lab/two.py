"""What two processes do for `test_processes.py`: all checks in one launch."""

import contextlib
import json
from pathlib import Path

import numpy as np
import torch
from tiny_lab import poisoned, runs

from medldr.datasets.base import ImageTable
from medldr.evaluation import score, write_predictions
from medldr.evaluation.predictions.predict import predict_each
from medldr.folders.lifecycle import Interrupted
from medldr.training import NonFiniteError
from medldr.training.machine.fabric_parts import has_unused_parameters
from medldr.training.machine.processes import Processes
from medldr.training.step import TrainStep
from medldr.training.weights.running_average import reestimate
from medldr.types import Batch, DataSpec

EXACT = {"data.train": 22, "model.norm": False, "model.dropout": 0.0, "training.momentum": 0.9}
"""No randomness and no statistics of a process's own rows."""

CURVES = {
    "erm": {**EXACT, "training.batch_size": 6},
    "averaged": {**EXACT, "training.averaging": {"decay": 0.8}, "training.batch_size": 6},
    "swad": {**EXACT, "training.averaging": "swad", "training.select": ("swad",)}
    | {"training.batch_size": 6, "training.epochs": 8, "training.lr": 0.4},
    "frozen": {**EXACT, "model.norm": True, "model.batch_norm": "frozen"}
    | {"training.batch_size": 6},
    "accumulated": {**EXACT, "training.batch_size": 8, "training.accumulate": 2},
    "staged": {
        **EXACT,
        "training.epochs": 2,
        "training.select": ("val_accuracy",),
        "training.batch_size": 6,
        "training.stages": [
            {"name": "retrain_head", "epochs": 1, "sampler": "shuffle"},
            {"name": "tau_norm", "tau": 0.5},
        ],
    },
    "clipped": {**EXACT, "training.clip_norm": 0.05, "training.batch_size": 6},
    "latentdr": {
        **EXACT,
        "algorithm": {"name": "latentdr", "degrade": "attention", "dropout": 0.0},
        "training.batch_size": 6,
    },
    "domains": {
        **EXACT,
        "data.own_splits": False,
        "data.sites": 4,
        "data.split_rule": "domainbed",
        "data.val_fraction": 0.2,
        "data.held_out": ["site1"],
        "evaluation.domain_curves": True,
        "evaluation.oracle": True,
        "training.batch_size": 6,
        "training.select": ["val_domain_accuracy", "val_domain_loss", "oracle_out_accuracy"],
    },
}
"""Runs whose curves must not depend on the number of processes; 22 rows leave a smaller batch."""

NOISY = {
    "training.batch_size": 6,
    "training.averaging": {"decay": 0.8},
    "training.optimizer": "adam",
    "training.lr": 0.01,
}
"""A run with dropout and normalisation, which resumes exactly with the same processes."""


VALLEY = {**NOISY, "training.averaging": {"name": "swad", "bn_batches": 6}}
VALLEY |= {"training.select": ("swad", "last")}
"""The same with an average whose statistics are estimated by both processes."""


def statistics_of(whole, processes):
    """Statistics of batch normalisation after three batches of this process's own rows."""
    loader = whole.data.train_loader(
        whole.config, sampler="shuffle", device="cpu", rank=processes.rank, world=processes.world
    )
    batches = list(loader.batches(0))[:3]
    own = [whole.model.conv(batch.image / 255).mean((0, 2, 3)) for batch in batches]
    reestimate(whole.model, batches, processes)
    return [whole.model.norm.running_mean.tolist(), torch.stack(own).mean(0).tolist()]


def only_sample_zero_is_wrong(fabric):
    """Case: five samples, two processes; no padded row may count."""
    config = runs.make_config({"data.train": 6, "data.val": 6, "data.test": 5})
    parts = runs.parts_of(config)
    rows = parts.data.rows["test"]
    labels = torch.from_numpy(parts.data.table.labels)
    wrong = rows[0]

    class Oracle(torch.nn.Module):
        def forward(self, image):
            return image

    place = {"device": fabric.device, "rank": fabric.global_rank, "world": fabric.world_size}
    batches = []
    for batch in parts.data.eval_loader("test", config, **place):
        logits = torch.nn.functional.one_hot(labels[batch.index], 3).float()
        logits[batch.index == wrong] = logits[batch.index == wrong].roll(1, 1)
        batches.append(batch._replace(image=logits))
    keys = {"spec": parts.data.spec, "table": parts.data.table, "split": "test"}
    predictions = predict_each([Oracle()], batches, fabric=fabric, **keys)[0]
    found = score(predictions)
    return {"rows": len(predictions), "accuracy": found["accuracy"], "auc": found["auc"]}


def write_five_items(fabric, out):
    """Predictions of five items, the first of them wrong, as each process has the whole of them.

    ``part``: one process has three items and the other two. ``padded``: the first item also fills
    the other's batch.
    """
    logits = torch.tensor([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [4.0, 0.0], [0.0, 5.0]])
    label, ids = np.array([0, 0, 1, 0, 1]), np.array(["a", "b", "c", "d", "e"])
    pixels, none = np.zeros((5, 1, 1, 2), dtype=np.uint8), np.full(5, "")
    table = ImageTable("t", "binary", ("no", "yes"), pixels, label, ids, none, none, none)
    keys = {"spec": DataSpec("binary", ("no", "yes"), (3, 2), 1, (1, 2)), "table": table}
    for name, rows in {"part": [[0, 2, 4], [1, 3]], "padded": [[0, 2, 4], [1, 3, 0]]}.items():
        index = torch.tensor(rows[fabric.global_rank])
        # An image is its own logits.
        batch = Batch(logits[index], torch.tensor(label)[index], index, index, index)
        network = torch.nn.Identity()
        (found,) = predict_each([network], [batch], split="test", fabric=fabric, **keys)
        write_predictions(out / f"{name}-{fabric.global_rank}.csv", found)


def work(fabric, out):
    """Run all checks, and leave what each process saw in a file of its own."""
    out = Path(out)
    rank = fabric.global_rank
    torch.set_num_threads(1)
    processes = Processes(fabric)
    seen = {"world": fabric.world_size}
    seen["total"] = processes.total(rank + 1, 5)
    seen["largest"] = processes.largest(rank, 1 - rank)
    seen["sum"] = processes.sum(torch.tensor([1.0, rank])).tolist()
    seen["gather"] = processes.gather({"rank": rank})
    seen["from_first"] = processes.from_first(f"from {rank}")

    machine = {"machine.devices": 2}
    for name, changes in CURVES.items():
        fitted = runs.train({**changes, **machine}, out / name, fabric=fabric).fitted
        seen[name] = {"facts": dict(fitted.facts), "selected": fitted.reported.written()}
        seen[name]["notes"] = list(fitted.notes)
    seen["metrics"] = only_sample_zero_is_wrong(fabric)
    write_five_items(fabric, out)

    whole = runs.train({**NOISY, **machine}, out / "whole", fabric=fabric)
    seen["notes"] = list(whole.fitted.notes)
    seen["buffer"] = whole.model.norm.running_mean.tolist()
    seen["erm_unused"] = has_unused_parameters(TrainStep(whole.model, whole.algorithm))
    # Only the second process gets the signal; both stop at the same step.
    stop = runs.stop_after(7) if rank == 1 else contextlib.nullcontext()
    try:
        with stop:
            runs.train({**NOISY, **machine}, out / "broken", fabric=fabric)
    except Interrupted as caught:
        seen["interrupted"] = [caught.signum, caught.resumable]
    runs.train({**NOISY, **machine}, out / "broken", fabric=fabric)

    seen["statistics"] = statistics_of(whole, processes)
    runs.train({**VALLEY, **machine}, out / "valley whole", fabric=fabric)
    stop = runs.stop_after(7) if rank == 1 else contextlib.nullcontext()
    with contextlib.suppress(Interrupted), stop:
        runs.train({**VALLEY, **machine}, out / "valley broken", fabric=fabric)
    runs.train({**VALLEY, **machine}, out / "valley broken", fabric=fabric)

    # Only the second process meets a NaN.
    poisoned.Poisoned.calls = 0 if rank == 1 else 1000
    changes = {"algorithm": {"name": "tiny_lab.poisoned", "nan_at": 6}, **machine}
    changes["training.batch_size"] = 6
    try:
        runs.train(changes, out / "poisoned", fabric=fabric)
    except NonFiniteError as caught:
        seen["stopped"] = str(caught)
    (out / f"rank{rank}.json").write_text(json.dumps(seen))
