"""Trains stand-ins by the loop's own parts, in one process or as one of two.

Run as a program, it is one of two processes: it trains every case, stops and resumes it, and
writes what came of it for the test to read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import standins
import torch
from lightning_fabric import Fabric

from medldr.algorithms import Algorithm
from medldr.config import MachineConfig, TrainingConfig
from medldr.folders.files import RunFolder
from medldr.training.machine.fabric import make_fabric
from medldr.training.machine.processes import Processes
from medldr.training.optim import build_optimizers
from medldr.training.state.checkpoint import WHAT, Checkpoints, newest
from medldr.training.state.rng import Randomness, seed_process
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch

STEPS = 4
TRAINING = TrainingConfig(optimizer="sgd", lr=0.1, momentum=0.9, precision="float32")


@dataclass(frozen=True)
class Case:
    """One algorithm to train: an entry of ``CONTRACT_CASES`` in the module of an algorithm.

    Attributes:
        name: Plug-in or pattern.
        keys: Its configuration.
        task: Kind of labels.
        rows: Rows of the global batch.
        one_equals_two: Whether one process and two come to the same weights: not where each draws
            numbers of its own, or keeps statistics of its own rows.
        norm: Whether the model has batch normalisation.
    """

    name: str
    keys: dict[str, Any] = field(default_factory=dict)
    task: str = "multi-class"
    rows: int = 12
    one_equals_two: bool = True
    norm: bool = False


EXACT = {"dropout": 0.0}
CASES: dict[str, Case] = {
    **{name: Case(name) for name in standins.PATTERNS},
    "frozen copy with batch normalisation": Case("frozen copy", norm=True, one_equals_two=False),
    "stacking": Case("latentdr", EXACT | {"base": "outside.projection"}),
    "batchformer on a base": Case(
        "batchformer", EXACT | {"base": "outside.projection", "share_classifier": False}
    ),
}
for plugin in standins.ALGORITHMS:
    for title, facts in standins.stated(plugin).get("CONTRACT_CASES", {plugin: {}}).items():
        key = f"{title} ({plugin})" if plugin == standins.EXAMPLE else title
        if key in CASES:
            raise ValueError(f"CONTRACT_CASES: two algorithms have a case {key!r}")
        CASES[key] = Case(plugin, **facts)


@dataclass
class Run:
    """A case made ready for this process."""

    algorithm: Algorithm
    step: Stepper
    case: Case
    spec: Any
    processes: Processes

    def batch(self, number: int) -> Batch:
        """This process's rows of a global batch; sets the step's share to fit."""
        whole = standins.make_batch(self.spec, self.case.rows, number, self.algorithm.views)
        part = torch.arange(self.case.rows).tensor_split(self.processes.world)[self.processes.rank]
        self.step.share = len(part) * self.processes.world / self.case.rows
        return whole.select(part)


def prepare(case: Case, fabric: Fabric, processes: Processes, seed: int = 0) -> Run:
    spec = standins.make_spec(case.task)
    model = standins.make_model(spec, seed, norm=case.norm)
    algorithm = standins.make_algorithm(case.name, spec, model, seed, **case.keys)
    pair = TrainStep(model, algorithm).train()
    optimizers = build_optimizers(algorithm.optimizers(model), TRAINING)
    step = Stepper(fabric, pair, optimizers, total=STEPS)
    return Run(algorithm, step, case, spec, processes)


def train(
    run: Run, folder: RunFolder | None = None, *, save: int | None = None, stop: bool = False
) -> dict[str, torch.Tensor]:
    """Train from the checkpoint that is there, if one is.

    Args:
        run: The case.
        folder: Of the checkpoint.
        save: Steps after which one is written.
        stop: Whether to end there.
    """
    shared = {
        "pair": run.step.pair,
        **{f"optimizer/{name}": part for name, part in run.step.optimizers.items()},
    }
    own = {"randomness": Randomness(torch.device("cpu"))}
    seed_process(0, run.processes.rank)
    checkpoints = None
    if folder is not None:
        checkpoints = Checkpoints(folder, dict.fromkeys(WHAT, ""), shared, own, run.processes)
        saved, _ = newest(folder)
        if saved is not None:
            run.step.index = checkpoints.load(saved)["step"]
    for number in range(run.step.index, STEPS):
        run.algorithm.update(run.step, run.batch(number))
        run.step.index += 1
        if checkpoints is not None and run.step.index == save:
            checkpoints.save({"step": save})
            if stop:
                break
    return {name: value.clone() for name, value in run.step.pair.state_dict().items()}


def gradients(run: Run) -> dict[str, torch.Tensor]:
    """Gradient of the algorithm's loss on the first batch, over all processes."""
    seed_process(0, run.processes.rank)
    run.step.backward(run.step.forward(run.batch(0)).loss)
    found = {
        name: p.grad.clone() for name, p in run.step.pair.named_parameters() if p.grad is not None
    }
    run.step.pair.zero_grad()
    return found


def resumed(case: Case, fabric: Fabric, processes: Processes, folder: RunFolder) -> Any:
    """The end of a run with a checkpoint, taken up by objects of another seed."""
    processes.gather(None)
    return train(prepare(case, fabric, processes, seed=7), folder)


def main(out: Path) -> None:
    torch.set_num_threads(1)
    fabric = make_fabric(MachineConfig(device="cpu", devices=2, threads=1), TRAINING)
    fabric.launch()
    processes = Processes(fabric)
    results = {}
    for number, (name, case) in enumerate(CASES.items()):
        folder = RunFolder(out / str(number))
        results[name] = {
            "gradients": gradients(prepare(case, fabric, processes)),
            "trained": train(prepare(case, fabric, processes), folder, save=2),
            "resumed": resumed(case, fabric, processes, folder),
        }
    torch.save(results, out / f"rank{processes.rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
