"""Trains a method twice, by medldr's own loop and by a derivation of its authors' update.

A `Reference` is written from the formulas of a method's authors. It takes nothing from medldr but
what a training starts from: first weights, batches, the state of the random generator. After every
step all weights, statistics and losses of both are compared.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest
import standins
import torch
from fidelity_reference import (
    STAGES,
    STEPS,
    Case,
    Optimizer,
    Plain,
    Reference,
    cross_entropy,
    dropped,
)
from torch import Tensor

from medldr.config import MachineConfig, TrainingConfig
from medldr.training.machine.fabric import make_fabric
from medldr.training.optim import Schedule, build_optimizers, set_lr
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec

__all__ = [
    "COUNTS",
    "STAGES",
    "STEPS",
    "Case",
    "Optimizer",
    "Plain",
    "Reference",
    "Trained",
    "TrainingConfig",
    "compare",
    "cross_entropy",
    "dropped",
    "every_step",
    "fabric",
]

CLASSES = ("a", "b", "c", "d")
COUNTS = (40, 20, 10, 5)
"""Training images of each class."""
WARMUP = 2
RATES = {"sgd": 0.05, "adam": 0.01}


def rate_factor(index: int) -> float:
    """Two steps of warm-up, then half a cosine over what is left."""
    if index < WARMUP:
        return (index + 1) / WARMUP
    return (1 + math.cos(math.pi * (index - WARMUP) / (STEPS - WARMUP))) / 2


def every_step(reference: type[Reference], cases: Mapping[str, Case]) -> Callable[..., None]:
    """A test of all cases under every optimizer, to be bound to a name that pytest collects."""

    @pytest.mark.parametrize("case", cases.values(), ids=cases)
    def test(case: Case, optimizer: str) -> None:
        compare(reference, case, optimizer)

    test.reference = reference  # type: ignore[attr-defined]
    test.__doc__ = reference.__doc__
    return test


def compare(reference: type[Reference], case: Case, optimizer: str) -> None:
    """Train both ways and compare after every step."""
    options = {"optimizer": optimizer, "lr": RATES[optimizer], "weight_decay": 0.01}
    training = TrainingConfig(
        **options | {"steps": STEPS, "schedule": "cosine", "warmup": WARMUP, **case.training},
        precision="float32",
    )
    ours = Trained(reference.name, case, training)
    scale = case.keys.get("lr_scale", reference.rate)
    theirs = ours.derived(reference, scale)
    torch.manual_seed(7)
    found = [ours.step(number) for number in range(STEPS)]
    torch.manual_seed(7)
    for number, (losses, state, passes) in enumerate(found):
        batch = ours.batch(number)
        theirs.index, theirs.factor, theirs.passes = number, rate_factor(number), passes
        expected = theirs.update(batch)
        assert "loss" in expected
        weights = {name: value.detach() for name, value in theirs.w.items()}
        for name, value in {**expected, **weights, **theirs.tracked()}.items():
            ours_now = seen((losses if name in expected else state)[name], name, reference)
            theirs_now = seen(value, name, reference)
            near = {"rtol": case.rtol, "atol": case.rtol / 10}
            if ours_now.shape == theirs_now.shape and torch.allclose(ours_now, theirs_now, **near):
                continue  # `assert_close` takes five times as long
            torch.testing.assert_close(
                ours_now,
                theirs_now,
                **near,
                msg=lambda text, n=name, s=number: f"{n} after step {s + 1}: {text}",
            )
    if reference is not Plain and optimizer == "sgd":
        assert is_not_erm(ours, theirs, scale), "the case ends where plain training does"


def is_not_erm(ours: Trained, theirs: Reference, scale: float) -> bool:
    """Whether a training ended elsewhere than plain training of the same network."""
    plain = ours.derived(Plain, scale)
    for number in range(STEPS):
        plain.index, plain.factor = number, rate_factor(number)
        plain.update(ours.batch(number))
    names = plain.own("model.")
    return max(float((plain.w[n] - theirs.w[n]).detach().abs().max()) for n in names) > 1e-5


def seen(value: Tensor, name: str, reference: type[Reference]) -> Tensor:
    """The entries of a weight that a loss depends on, in float64."""
    value = value.double().clone()
    for ending, entries in reference.unseen.items():
        if name.endswith(ending):
            value[entries] = 0
    return value


class Trained:
    """A training by the parts of medldr's loop."""

    def __init__(self, name: str, case: Case, training: TrainingConfig) -> None:
        self.case, self.training = case, training
        names = standins.DOMAINS
        self.spec = DataSpec("multi-class", CLASSES, COUNTS, 1, (8, 6), names, names)
        model = standins.make_model(self.spec, norm=case.norm != "none").double()
        if case.norm != "none":
            generator = torch.Generator().manual_seed(3)
            for value in (model.norm.running_mean, model.norm.running_var):
                value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
        if case.norm == "frozen":
            model.freeze_batch_norm()
        self.algorithm = standins.make_algorithm(name, self.spec, model, **case.keys).double()
        # As a run does that starts from the weights of another one.
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1.1)
        self.algorithm.begin(model)
        self.pair = TrainStep(model, self.algorithm).train()
        self.first = copy.deepcopy(self.pair.state_dict())
        scale = self.algorithm.config.lr_scale
        groups = self.algorithm.optimizers(model)
        self.stepper = Stepper(
            fabric(),
            self.pair,
            build_optimizers(groups, training, lr_scale=scale),
            total=STEPS,
            clip_norm=training.clip_norm,
        )
        self.schedule = Schedule(training, 1)
        self.passes: list[list[int]] = []
        forward = self.stepper.forward

        def watched(batch: Batch, method: str = "loss") -> Any:
            self.passes.append(batch.domain.tolist())
            return forward(batch, method)

        self.stepper.forward = watched  # type: ignore[method-assign]

    def derived(self, reference: type[Reference], scale: float) -> Reference:
        """The reference, with the same first weights, at this factor on the rate."""
        names = {n for n, p in self.pair.named_parameters() if p.requires_grad}
        if reference is Plain:
            names = {n for n in names if n.startswith("model.")}
        options = self.training.model_dump()
        options["lr"] *= scale
        return reference(self.first, names, self.case, options)

    def batch(self, number: int) -> Batch:
        """Blocks of equal size in random order; class and domain move the mean."""
        generator = torch.Generator().manual_seed(1000 + number)
        rows = torch.arange(self.case.rows)
        domain = (rows % self.case.domains)[torch.randperm(len(rows), generator=generator)]
        label = torch.randint(self.spec.num_classes, rows.shape, generator=generator)
        views = [
            torch.randn(len(rows), 1, 8, 6, generator=generator, dtype=torch.float64)
            + (label / 2 + 0.4 * domain).view(-1, 1, 1, 1)
            for _ in range(1 + len(self.algorithm.views))
        ]
        named = dict(zip(self.algorithm.views, views[1:], strict=True))
        return Batch(views[0], label, domain, rows, rows, named)

    def step(self, number: int) -> tuple[dict[str, Tensor], dict[str, Tensor], list[list[int]]]:
        """Losses of one step, all weights and buffers after it, and the passes it took."""
        self.passes.clear()
        set_lr(self.stepper.optimizers, self.schedule(number))
        output = self.algorithm.update(self.stepper, self.batch(number))
        self.stepper.index += 1
        losses = {"loss": output.loss.detach(), **output.logs}
        state = {name: value.clone() for name, value in self.pair.state_dict().items()}
        return losses, state, list(self.passes)


@cache
def fabric() -> Any:
    """Of one process on the CPU, in the precision that a run on it has."""
    machine = MachineConfig(device="cpu", threads=1)
    return make_fabric(machine, TrainingConfig(precision="float32"))
