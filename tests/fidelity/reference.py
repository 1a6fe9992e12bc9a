"""What a method's update is derived with: a network, optimizers and losses that are not medldr's.

Everything is in float64 and written out. Only gradients are torch's, and the convolution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from medldr.types import Batch

STEPS = 6
"""Of every training."""

STAGES = ("stem", "stage1", "stage2", "stage3", "stage4")

At = Mapping[str, Callable[[Tensor], Tensor]]
"""What is done to a stage's output, by stage."""


@dataclass(frozen=True)
class Case:
    """One training.

    Attributes:
        keys: Of the algorithm's section.
        norm: Batch normalisation after the stem: none, live or frozen.
        training: Further keys of the section training.
        rows: Of a batch.
        domains: Source domains in a batch, in equal blocks and random order; the first ones.
        rtol: Relative tolerance of every number.
    """

    keys: Mapping[str, Any] = field(default_factory=dict)
    norm: str = "none"
    training: Mapping[str, Any] = field(default_factory=dict)
    rows: int = 12
    domains: int = 3
    rtol: float = 1e-11


class Optimizer:
    """SGD with momentum or Adam for some weights, as their papers and torch's manual have them."""

    def __init__(self, training: Mapping[str, Any], **own: Any) -> None:
        self.options = {**training, **own}
        self.reset()

    def reset(self) -> None:
        """Forget every average."""
        self.averages: dict[str, list[Tensor]] = {}
        self.count: dict[str, int] = {}

    @torch.no_grad()
    def step(
        self, weights: Mapping[str, Tensor], gradients: Mapping[str, Tensor], factor: float
    ) -> None:
        """Move weights in place, at this factor on the rate."""
        o = self.options
        rate = factor * o["lr"]
        for name, gradient in gradients.items():
            w = weights[name]
            if o["optimizer"] == "adamw":
                w -= rate * o["weight_decay"] * w
                g = gradient
            else:
                g = gradient + o["weight_decay"] * w
            zeros = torch.zeros_like(w)
            t = self.count[name] = self.count.get(name, 0) + 1
            if o["optimizer"] == "sgd":
                (v,) = self.averages.get(name, [zeros])
                v = o["momentum"] * v + g
                self.averages[name] = [v]
                w -= rate * (g + o["momentum"] * v if o["nesterov"] else v)
            else:
                m, v = self.averages.get(name, [zeros, zeros])
                b1, b2 = o["betas"]
                m = b1 * m + (1 - b1) * g
                v = b2 * v + (1 - b2) * g * g
                self.averages[name] = [m, v]
                w -= rate * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + o["eps"])


class Reference:
    """A method derived anew: subclasses write `update`, and where it is not one, `groups`.

    Attributes:
        name: The plug-in.
        unseen: By the end of a name, entries of a weight that no loss depends on. What rounding
            leaves of their gradient is not compared: Adam makes steps of it.
        rate: What the method multiplies every learning rate by, unless a key says otherwise.
        w: All trained weights by name, those of the network under ``model.``.
        statistics: Running mean and variance of the batch normalisation.
        index: Number of the step, from 0.
        factor: Of the schedule, at this step.
        passes: Domains of the rows of each pass that medldr made in this step; where the order of
            domains is drawn, it is read here.
    """

    name: ClassVar[str]
    rate: ClassVar[float] = 1.0
    unseen: ClassVar[Mapping[str, slice]] = {}

    def __init__(self, state: dict[str, Tensor], trained: set[str], case: Case, training: Any):
        self.first = state
        self.keys = dict(case.keys)
        self.norm = case.norm
        self.w = {n: state[n].clone().requires_grad_() for n in sorted(trained)}
        live = ("mean", "var") if case.norm == "live" else ()
        self.statistics = {n: state[f"model.norm.running_{n}"].clone() for n in live}
        self.training = training
        self.classes = len(state["model.head.bias"])
        self.index, self.factor = 0, 1.0
        self.passes: list[list[int]] = []
        self.optimizers = {
            name: [(names, Optimizer(training, **own)) for names, own in groups]
            for name, groups in self.groups().items()
        }
        self.setup()

    def setup(self) -> None:
        """What the method itself starts with."""

    def groups(self) -> dict[str, list[tuple[list[str], dict[str, Any]]]]:
        """Names of weights, and options of their own, of every optimizer."""
        return {"main": [(list(self.w), {})]}

    def update(self, batch: Batch) -> dict[str, Tensor]:
        """One whole step; returns ``loss`` and any terms that medldr logs."""
        raise NotImplementedError

    def tracked(self) -> dict[str, Tensor]:
        """Buffers of medldr to be compared, by the names they have there."""
        return {f"model.norm.running_{name}": value for name, value in self.statistics.items()}

    def own(self, prefix: str) -> list[str]:
        """Names of the weights under this one."""
        return [name for name in self.w if name.startswith(prefix)]

    # The network of the stand-ins.

    def features(self, image: Tensor, at: At | None = None, w: Any = None) -> Tensor:
        """Five convolutions with tanh, and the mean over all positions."""
        w = self.w if w is None else w
        x = image
        for number, stage in enumerate(STAGES):
            block = f"model.blocks.{number}."
            x = functional.conv2d(x, w[block + "weight"], w[block + "bias"], padding=1).tanh()
            if at and stage in at:
                x = at[stage](x)
            if stage == "stem" and self.norm != "none":
                x = self._normalised(x, w["model.norm.weight"], w["model.norm.bias"])
        return x.mean((2, 3))

    def _normalised(self, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
        shape = (1, -1, 1, 1)
        if self.norm == "frozen":
            mean, var = (self.first[f"model.norm.running_{n}"] for n in ("mean", "var"))
        else:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)
            unbiased = x.detach().var((0, 2, 3))
            for name, now in (("mean", mean.detach()), ("var", unbiased)):
                self.statistics[name] = 0.9 * self.statistics[name] + 0.1 * now
        z = (x - mean.view(shape)) / (var.view(shape) + 1e-5).sqrt()
        return z * scale.view(shape) + shift.view(shape)

    def passed(self, batch: Batch) -> Tensor:
        """Latents of a batch, of which each domain passes alone where the case says so."""
        if self.keys.get("forward", "batch") == "batch":
            return self.features(batch.image)
        z = torch.zeros(len(batch.label), self.w["model.head.weight"].shape[1]).double()
        for rows in (batch.domain == d for d in sorted(set(batch.domain.tolist()))):
            z = z.index_put((rows,), self.features(batch.image[rows]))
        return z

    def classify(self, z: Tensor, w: Any = None) -> Tensor:
        """The linear head."""
        return self.linear(z, "model.head", w)

    def linear(self, x: Tensor, layer: str, w: Any = None) -> Tensor:
        """``x W' + b``."""
        w = self.w if w is None else w
        return x @ w[f"{layer}.weight"].T + w[f"{layer}.bias"]

    def normed(self, x: Tensor, layer: str) -> Tensor:
        """Layer norm over the entries of a row."""
        away = x - x.mean(1, keepdim=True)
        x = away / ((away**2).mean(1, keepdim=True) + 1e-5).sqrt()
        return x * self.w[f"{layer}.weight"] + self.w[f"{layer}.bias"]

    def risks(self, batch: Batch, logits: Tensor) -> list[Tensor]:
        """Mean cross-entropy of every domain."""
        return [
            cross_entropy(logits[rows], batch.label[rows])
            for rows in (batch.domain == d for d in sorted(set(batch.domain.tolist())))
        ]

    # Steps.

    def gradients(self, loss: Tensor, names: Iterable[str]) -> dict[str, Tensor]:
        """Of a loss, for those of these weights that it depends on."""
        names = list(names)
        found = torch.autograd.grad(loss, [self.w[n] for n in names], allow_unused=True)
        return {n: g for n, g in zip(names, found, strict=True) if g is not None}

    def apply(self, gradients: Mapping[str, Tensor], name: str = "main") -> None:
        """A step of an optimizer, clipped where the run clips."""
        mine = {n for names, _ in self.optimizers[name] for n in names}
        gradients = {n: g for n, g in gradients.items() if n in mine}
        limit = self.training["clip_norm"]
        if limit is not None:
            norm = math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))
            gradients = {n: g * min(1.0, limit / (norm + 1e-6)) for n, g in gradients.items()}
        for names, part in self.optimizers[name]:
            part.step(self.w, {n: gradients[n] for n in names if n in gradients}, self.factor)

    def minimise(self, loss: Tensor, *names: str) -> dict[str, Tensor]:
        """A step of these optimizers on a loss, by default of ``main``; returns the loss."""
        gradients = self.gradients(loss, self.w)
        for name in names or ("main",):
            self.apply(gradients, name)
        return {"loss": loss.detach()}

    def reset(self, name: str = "main") -> None:
        """A new optimizer."""
        for _, part in self.optimizers[name]:
            part.reset()


class Plain(Reference):
    """A step on the mean cross-entropy of the batch."""

    name = "erm"

    def update(self, batch: Batch) -> dict[str, Tensor]:
        logits = self.classify(self.features(batch.image))
        return self.minimise(cross_entropy(logits, batch.label))


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    """``-mean_i sum_k t_ik ln p_ik`` for class numbers or soft labels."""
    if target.ndim == 1:
        target = torch.eye(logits.shape[1], dtype=logits.dtype)[target]
    return -(target * (logits - logits.logsumexp(1, keepdim=True))).sum(1).mean()


def dropped(x: Tensor, rate: float) -> Tensor:
    """Dropout with the mask that torch's generator gives a tensor of this size."""
    if rate == 0:
        return x
    mask = torch.empty_like(x, memory_format=torch.contiguous_format).bernoulli_(1 - rate)
    return x * mask / (1 - rate)
