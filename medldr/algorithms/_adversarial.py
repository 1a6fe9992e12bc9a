"""Shared by DANN and CDANN: a network and a discriminator trained in turn against each other."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.algorithms._blocks import ComparesDomains
from medldr.algorithms._discriminator import Discriminator, gradient_penalty
from medldr.algorithms.base import AlgorithmConfig, Step, accuracy
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput


class AdversarialConfig(AlgorithmConfig):
    """Keys of the methods with a discriminator of domains."""

    weight: float = Field(1.0, ge=0, description="weight of the discriminator's loss, lambda")
    schedule: Literal["constant", "ganin"] = Field(
        "constant", description="of the weight; ganin: rises from 0 over the run"
    )
    d_steps: int = Field(1, ge=1, description="discriminator steps per network step")
    grad_penalty: float = Field(
        0.0, ge=0, description="weight of the squared gradient of the discriminator's loss"
    )
    lr_d: float | None = Field(
        None, gt=0, description="learning rate of the discriminator; unset: the network's"
    )
    weight_decay_d: float | None = Field(
        None, ge=0, description="weight decay of the discriminator; unset: training.weight_decay"
    )
    betas: tuple[float, float] | None = Field(
        (0.5, 0.9),
        description="Adam or AdamW betas, also for the network; null: training.betas; no effect "
        "with sgd",
    )
    width: int = Field(256, ge=1, description="hidden width of the discriminator")
    depth: int = Field(3, ge=2, description="linear layers of the discriminator")
    dropout: float = Field(0.0, ge=0, lt=1, description="dropout in the discriminator")


class Adversarial(ComparesDomains):
    """Classification loss minus the loss of a discriminator, which takes its own steps.

    Subclasses say what the discriminator sees (`seen`), what else learns with it (`opponents`) and
    how much each row counts (`row_weights`).

    Attributes:
        discriminator: Guesses the domain of each row.
        strength: ``()``, factor on the weight at this step, from 0 to 1; 1 without a schedule.
    """

    config: AdversarialConfig

    def __init__(self, config: AdversarialConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.discriminator = Discriminator(
            model.dim,
            len(spec.train_domains),
            width=config.width,
            depth=config.depth,
            dropout=config.dropout,
        )
        self.strength: Tensor
        self.register_buffer("strength", torch.tensor(float(config.schedule == "constant")))

    def seen(self, z: Tensor, label: Tensor) -> Tensor:
        """The input of the discriminator ``(B, D)``: the latents."""
        return z

    def opponents(self) -> list[nn.Module]:
        """What the optimizer ``discriminator`` trains."""
        return [self.discriminator]

    def row_weights(self, label: Tensor) -> Tensor | None:
        """Factor on each row's loss ``(B,)`` before their mean; None: all are 1."""
        return None

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """``main`` trains the network, ``discriminator`` its opponents."""
        settings = self.config
        both = {} if settings.betas is None else {"betas": settings.betas}
        theirs = {"lr": settings.lr_d, "weight_decay": settings.weight_decay_d}
        against = [p for module in self.opponents() for p in module.parameters()]
        known = {id(p) for p in against}
        trainable = [p for m in (model, self) for p in m.parameters() if p.requires_grad]
        given = {key: value for key, value in theirs.items() if value is not None}
        return {
            "main": [{"params": [p for p in trainable if id(p) not in known], **both}],
            "discriminator": [{"params": against, **both, **given}],
        }

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The network's loss: ``loss/original`` minus the weighted ``loss/domain``."""
        z = model.features(batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        domain, logs = self._domain_loss(z, batch)
        loss = original - self.config.weight * self.strength * domain
        return StepOutput(loss, z, logits, {"loss/original": original.detach(), **logs})

    def discriminator_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The discriminator's loss; nothing of it reaches the network."""
        with torch.no_grad():
            z = model.features(batch.image)
            logits = model.classify(z)
            original = self.classification_loss(logits, batch.label)
        loss, logs = self._domain_loss(z, batch)
        return StepOutput(loss, z, logits, {"loss/original": original, **logs})

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """A step of the network or of the discriminator, depending on the step number."""
        settings = self.config
        if settings.schedule == "ganin":
            self.strength.fill_(ganin_strength(step.index / step.total))
        if turn_of_discriminator(step.index, settings.d_steps):
            method, name = "discriminator_loss", "discriminator"
        else:
            method, name = "loss", "main"
        output = step.forward(batch, method)
        step.backward(output.loss)
        step.optimizer_step(name)
        return output

    def _domain_loss(self, z: Tensor, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """The discriminator's loss with its penalty, and the terms to be logged."""
        seen, factor = self.seen(z, batch.label), self.config.grad_penalty
        penalty = None
        if factor:
            guess, slopes = self.discriminator.with_slopes(seen, batch.domain)
            penalty = gradient_penalty(slopes)
        else:
            guess = self.discriminator(seen)
        losses = functional.cross_entropy(guess, batch.domain, reduction="none")
        weights = self.row_weights(batch.label)
        loss = losses.mean() if weights is None else (losses * weights.to(losses.dtype)).mean()
        logs = {
            "loss/domain": loss.detach(),
            "accuracy/domain": accuracy(guess.detach(), batch.domain),
        }
        if penalty is None:
            return loss, logs
        return loss + factor * penalty, {**logs, "loss/penalty": penalty.detach()}


def turn_of_discriminator(index: int, d_steps: int) -> bool:
    """Whether the discriminator takes this step; if not, the network does.

    Args:
        index: Number of the step, from 0.
        d_steps: Its steps for each one of the network.

    Source:
        DomainBed, whose counter is 1 at the first step.

    Example:
        >>> ["nd"[turn_of_discriminator(index, 1)] for index in range(4)]
        ['n', 'd', 'n', 'd']
        >>> ["nd"[turn_of_discriminator(index, 2)] for index in range(6)]
        ['d', 'n', 'd', 'd', 'n', 'd']
    """
    return (index + 1) % (1 + d_steps) < d_steps


def ganin_strength(progress: float) -> float:
    """Factor on the weight after this part of the run: ``2 / (1 + e^(-10 p)) - 1``.

    Args:
        progress: Part of the run that is done, from 0 to 1.

    Source:
        Ganin et al., "Domain-adversarial training of neural networks", 2016.

    Example:
        >>> [round(ganin_strength(p), 6) for p in (0, 0.25, 0.5, 1)]
        [0.0, 0.848284, 0.986614, 0.999909]
    """
    return 2 / (1 + math.exp(-10 * progress)) - 1
