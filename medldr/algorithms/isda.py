"""ISDA: the loss of infinitely many augmented latents, in closed form.

What it changes: a latent is thought of as moved along directions in which latents of its class
differ: noise of the class's covariance, ``strength`` times. The expected cross-entropy over all
such noise has an upper bound in closed form, which is trained instead: to the logit of each class k
it adds ``strength / 2 (w_k - w_y)' S_y (w_k - w_y)``, where ``w`` are the head's weights, y is the
label and ``S_y`` the covariance of all latents of the class that training has seen so far.
Prediction has no such term.

When to use: few images of each class, whose natural variation (size, pose, severity) other images
of the class show. Harmful where a class's latents differ by hospital rather than by finding: those
directions are augmented too, and where a class has so few images that its covariance is chance.

Cost: no parameters and no pass of its own; a (D, D) covariance per class in memory, and K x K x D x
D multiplications per step; with ``covariance: diagonal`` D numbers per class and K x K x D. It is
meant for many classes or long latents. Prediction costs nothing.

Works with: multi-class, binary and ordinal labels, in 2D and 3D, and every network with ``head:
linear``, whose weights the bound needs. Not with multi-label data, accumulation, or as a base of
another method: it counts steps. The bound is one of cross-entropy and of losses that add constants
to logits (``balanced_softmax``, ``logit_adjusted``); with others the same logits are used.

Settings: ``strength`` 0.5, lambda_0 of its authors' CIFAR runs (they searched 0.1 to 1, and had 7.5
with diagonal covariances on ImageNet); ``ramp`` 1: it rises over the whole run. BSDA's authors ran
it with 0.5 on MedMNIST. ``strength: 0`` is ``erm``, bit for bit.

Several processes: covariances are those of the rows of all processes.

Source:
    Wang et al., "Implicit semantic data augmentation for deep networks", 2019, and its code: the
    strength grows from 0 to lambda_0; means and population covariances of all latents since the
    first step, each class by itself, without gradient, and the batch's own rows counted before they
    are used; the gradient passes through the head's weights in the bound.
    Our choice: the strength grows by step where theirs grows by epoch; sums in float32 also under
    autocast. Latents of early steps count as much as those of late ones, as in theirs.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from medldr.algorithms._augmented import Ramped, RampedConfig
from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms.base import linear_head
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "ISDA"


class ISDAConfig(RampedConfig):
    """Keys of ISDA."""

    name: Literal["isda"] = "isda"
    strength: float = Field(0.5, ge=0, description="lambda_0, factor on the covariances; 0: erm")
    covariance: Literal["full", "diagonal"] = Field(
        "full", description="of each class; diagonal: variances alone, for many classes"
    )


class ISDA(Ramped):
    """The upper bound of the expected cross-entropy under noise of each class's covariance.

    Attributes:
        count: ``(K,)`` int64, latents of each class that were seen.
        mean: ``(K, D)``, their means.
        covariance: ``(K, D, D)``, their population covariances; ``(K, D)`` where diagonal.
    """

    set_based = True
    tasks = ("multi-class", "binary", "ordinal")
    config: ISDAConfig

    def __init__(self, config: ISDAConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        weight = linear_head(config.name, model).weight
        classes, dim = weight.shape
        kind = torch.promote_types(weight.dtype, torch.float32)
        square = (classes, dim, dim) if config.covariance == "full" else (classes, dim)
        self.count: Tensor
        self.mean: Tensor
        self.covariance: Tensor
        self.register_buffer("count", torch.zeros(classes, dtype=torch.int64))
        self.register_buffer("mean", torch.zeros(classes, dim, dtype=kind))
        self.register_buffer("covariance", torch.zeros(square, dtype=kind))

    def augmented_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The bound, logged as ``loss/isda`` beside the plain ``loss/original``."""
        rows = RowGatherer(len(batch.label), batch.label.device) if several_processes() else None
        label = batch.label if rows is None else rows.gather(batch.label)
        z = model.features(batch.image)
        logits = model.classify(z)
        with torch.autocast(z.device.type, enabled=False):
            seen = z.detach() if rows is None else rows.gather(z.detach())
            self.observe(seen.to(self.mean.dtype), label)
            weight = linear_head(self.config.name, model).weight
            spread = margin_variances(weight, self.covariance.to(weight.dtype))
            moved = logits + (self.now / 2 * spread)[batch.label]
        loss = self.classification_loss(moved, batch.label)
        original = self.classification_loss(logits.detach(), batch.label)
        return StepOutput(loss, z, logits, {"loss/isda": loss.detach(), "loss/original": original})

    @torch.no_grad()
    def observe(self, z: Tensor, label: Tensor) -> None:
        """Let latents ``(B, D)`` of these classes ``(B,)`` enter the means and covariances."""
        member = functional.one_hot(label, len(self.count))
        new = member.sum(0)
        member = member.to(z.dtype)
        mean = member.T @ z / new.clamp_min(1)[:, None]
        away, gap = z - mean[label], mean - self.mean
        self.count += new
        share = (new.to(z.dtype) / self.count.clamp_min(1))[:, None]
        self.mean += share * gap
        # A covariance is the sum of the squares of these rows, and what is left of the one before.
        within = (share * member.T / new.clamp_min(1)[:, None]).sqrt()[:, :, None] * away
        rows = torch.cat([within, ((share * (1 - share)).sqrt() * gap)[:, None]], 1)
        if self.config.covariance == "full":
            self.covariance.mul_(1 - share[:, None]).baddbmm_(rows.mT, rows)
        else:
            self.covariance.mul_(1 - share).add_(rows.square().sum(1))


def margin_variances(weight: Tensor, covariance: Tensor) -> Tensor:
    """Variance of the difference of two logits, for latents of every class.

    Args:
        weight: ``(K, D)``, of a linear head.
        covariance: ``(K, D, D)``, of the latents of each class, or its diagonals ``(K, D)``.

    Returns:
        ``(K, K)``; row y, column k: the variance of logit k less logit y, for latents of class y.

    Example:
        >>> weight = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
        >>> variances = torch.tensor([[1.0, 1.0], [3.0, 0.5]])
        >>> margin_variances(weight, variances).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
        >>> margin_variances(weight, torch.diag_embed(variances)).tolist()
        [[0.0, 5.0], [5.0, 0.0]]
    """
    away = weight - weight[:, None]
    if covariance.ndim == 3:
        return (away @ covariance * away).sum(2)
    return (away.square() @ covariance[:, :, None]).squeeze(2)


Config = ISDAConfig
ALGORITHM = ISDA

CONTRACT_CASES = {
    "isda": {"keys": {"ramp": 0.0}},
    "isda, diagonal": {"keys": {"covariance": "diagonal", "strength": 5.0}, "rows": 11},
}
