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
    """One algorithm to train.

    Attributes:
        name: Plug-in or pattern.
        keys: Its configuration.
        task: Kind of labels.
        rows: Rows of the global batch.
        any_number: Whether one process and two must come to the same weights.
        norm: Whether the model has batch normalisation.
    """

    name: str
    keys: dict[str, Any] = field(default_factory=dict)
    task: str = "multi-class"
    rows: int = 12
    any_number: bool = True
    norm: bool = False


EXACT = {"dropout": 0.0}
CASES: dict[str, Case] = {
    **{name: Case(name) for name in standins.PATTERNS},
    "frozen copy with batch normalisation": Case("frozen copy", norm=True, any_number=False),
    "stacking": Case("latentdr", EXACT | {"base": "outside.projection"}),
    "erm": Case("erm"),
    "latentdr attention": Case("latentdr", EXACT),
    "latentdr pool": Case("latentdr", EXACT | {"degrade": "pool"}),
    "latentdr gaussian": Case("latentdr", EXACT | {"degrade": "gaussian"}),
    "latentdr restored alone": Case("latentdr", EXACT | {"degrade": "none", "terms": ["restored"]}),
    "latentdr attention without query": Case("latentdr", EXACT | {"include_query": False}),
    "latentdr pool without query": Case(
        "latentdr", EXACT | {"degrade": "pool", "include_query": False}
    ),
    "latentdr multi-label": Case("latentdr", EXACT | {"degrade": "pool"}, "multi-label"),
    "latentdr attention, uneven": Case("latentdr", EXACT, rows=11),
    "latentdr pool, uneven": Case("latentdr", EXACT | {"degrade": "pool"}, rows=11),
    "latentdr with dropout": Case("latentdr", {"degrade": "pool"}, any_number=False),
    "latentdr local": Case("latentdr", EXACT | {"set_scope": "local"}, any_number=False),
    "mixup": Case("mixup", {"alpha": 1.0}, any_number=False),
    "mixup multi-label": Case("mixup", {"alpha": 1.0}, "multi-label", any_number=False),
    "mixup without mixing": Case("mixup", {"alpha": 0.0}),
    "cutmix": Case("cutmix", {"prob": 0.9}, any_number=False),
    "manifold mixup": Case("manifold_mixup", {"alpha": 1.0}, any_number=False),
    "batchformer": Case("batchformer", EXACT),
    "batchformer, uneven": Case("batchformer", EXACT, rows=11),
    "batchformer multi-label": Case("batchformer", EXACT | {"weights": [1, 2]}, "multi-label"),
    "batchformer on a base": Case(
        "batchformer", EXACT | {"base": "outside.projection", "share_classifier": False}
    ),
    "batchformer dropped": Case("batchformer", {"weights": [1, 0]}),
    "batchformer with dropout": Case("batchformer", any_number=False),
    "batchformer local": Case("batchformer", EXACT | {"set_scope": "local"}, any_number=False),
    "mixstyle": Case("mixstyle", {"p": 1.0}, any_number=False),
    "mixstyle cross-domain": Case(
        "mixstyle", {"p": 1.0, "partners": "cross_domain"}, any_number=False
    ),
    "mixstyle never": Case("mixstyle", {"p": 0.0}),
    "fish": Case("fish", {"meta_lr": 1.5}),
    "fish multi-label": Case("fish", {"meta_lr": 1.5}, "multi-label"),
    "fish in a fixed order": Case("fish", {"meta_lr": 1.0, "divide": False, "order": "fixed"}),
    "fish without momentum": Case("fish", {"meta_lr": 1.5, "keep_optimizer": False}),
    "fish with batch normalisation": Case("fish", {"meta_lr": 1.5}, norm=True, any_number=False),
    "coral": Case("coral", {"weight": 10.0}),
    "coral, uneven": Case("coral", {"weight": 10.0}, rows=11),
    "coral multi-label": Case("coral", {"weight": 10.0}, "multi-label"),
    "vrex": Case("vrex", {"weight": 20.0, "anneal_steps": 2}),
    "vrex, uneven": Case("vrex", {"anneal_steps": 0}, rows=11),
    "vrex multi-label": Case("vrex", {"anneal_steps": 1, "reset_optimizer": False}, "multi-label"),
    "irm": Case("irm", {"weight": 20.0, "anneal_steps": 2}),
    "irm, uneven": Case("irm", {"weight": 5.0, "anneal_steps": 0}, rows=11),
    "irm multi-label": Case("irm", {"weight": 20.0, "anneal_steps": 3}, "multi-label"),
    "groupdro": Case("groupdro", {"eta": 1.0}),
    "groupdro, uneven": Case("groupdro", {"eta": 1.0}, rows=11),
    "groupdro multi-label": Case("groupdro", {"eta": 1.0}, "multi-label"),
    "latentdr on groupdro": Case("latentdr", EXACT | {"base": {"name": "groupdro", "eta": 1.0}}),
    "mmd": Case("mmd", {"weight": 0.2}),
    "mmd, uneven": Case("mmd", {"weight": 0.2}, rows=11),
    "mmd multi-label": Case("mmd", {"weight": 0.02, "bandwidths": "median"}, "multi-label"),
    "dann": Case("dann"),
    "dann with a penalty": Case("dann", {"grad_penalty": 0.5, "weight": 0.3}),
    "dann, two steps of the discriminator": Case("dann", {"d_steps": 2, "schedule": "ganin"}),
    "dann, uneven": Case("dann", {"lr_d": 0.02, "grad_penalty": 0.5}, rows=11),
    "dann multi-label": Case("dann", {"depth": 2, "width": 5}, "multi-label"),
    "dann with dropout": Case("dann", {"dropout": 0.5}, any_number=False),
    "cdann": Case("cdann", {"grad_penalty": 0.5}),
    "cdann, uneven": Case("cdann", {"class_count": "batch"}, rows=11),
    "cdann multi-label": Case("cdann", task="multi-label"),
    "sagnet": Case("sagnet", {"weight": 1.0}),
    "sagnet, uneven": Case("sagnet", {"weight": 1.0}, rows=11),
    "sagnet multi-label": Case("sagnet", {"weight": 1.0}, "multi-label"),
    "sagnet without the third update": Case("sagnet", {"weight": 0.0}),
    "latentdr on coral": Case("latentdr", EXACT | {"base": {"name": "coral", "weight": 10.0}}),
    "mldg": Case("mldg", {"inner": "sgd", "beta": 1.5}),
    "mldg with fresh Adam steps": Case("mldg", {"inner_lr": 0.01}),
    "mldg multi-label": Case("mldg", {"inner": "sgd", "inner_lr": 0.3}, "multi-label"),
    "mldg split": Case("mldg", {"inner": "sgd", "pairs": "split", "divide": "domains"}),
    "mldg with batch normalisation": Case("mldg", {"inner": "sgd"}, norm=True, any_number=False),
    "fishr": Case("fishr", {"weight": 50.0, "anneal_steps": 2}),
    "fishr, uneven": Case("fishr", {"weight": 50.0, "anneal_steps": 0, "ema": 0.5}, rows=11),
    "fishr multi-label": Case("fishr", {"weight": 50.0, "anneal_steps": 1}, "multi-label"),
    "miro": Case("miro", {"weight": 0.5, "encoder_lr_scale": 2.0}),
    "miro, uneven": Case("miro", {"weight": 0.5, "points": "block"}, rows=11),
    "miro multi-label": Case("miro", task="multi-label"),
    "miro with batch normalisation": Case("miro", norm=True, any_number=False),
    "latentdr on miro": Case("latentdr", EXACT | {"base": {"name": "miro", "weight": 0.5}}),
}


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
