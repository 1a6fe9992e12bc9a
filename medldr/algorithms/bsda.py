"""BSDA: latents moved at random, by magnitudes that a small module learns to draw.

What it changes: a small module reads a latent and states, for each of its entries, the variance of
a normal distribution around 0. From it ``copies`` sets of moves are drawn. Each entry takes part
with probability ``1 - dropout`` (the direction) where it is not 0, and the classifier learns the
moved latents with the labels of the images. Two more terms keep the moves what they should be: the
variances are drawn towards 1 (a Kullback-Leibler divergence from the standard normal), and a
decoder must find the latent from its moves. All three count ``strength`` times beside the plain
loss, rising from 0. Prediction has no part of it.

When to use: few images of each class, as in most medical data; it was made and measured on
MedMNIST. Harmful where a finding is a small part of a latent that random moves cover up.

Cost: five layers of D x D weights while training, and the classifier on ``copies`` times as many
latents: next to nothing beside a network of images, most of the time on stored latents. Prediction
costs nothing.

Works with: every task, head and loss, in 2D and 3D; every network, since it works on latents. Not
with accumulation, or as a base of another method: it counts steps. A batch of a single image trains
as ``erm``, since the module normalises over the batch.

Settings: ``strength`` 0.5 (alpha) from half of the run on, ``dropout`` 0.8 (lambda), 10 copies.
``strength: 0`` is ``erm``, bit for bit.

Several processes: each draws for itself and normalises its own rows.

Source:
    Zhu et al., "BSDA: Bayesian random semantic data augmentation for medical image classification",
    2024, and its code: two layers of D x D with batch normalisation and GELU, then one for the
    logarithm of the variance; a decoder of two such layers; the mean of the moves is fixed at 0;
    moves pass through dropout, which also scales those that are left by ``1 / (1 - lambda)``;
    the decoder's loss is half the mean squared error over all entries, and its target passes
    gradients to the encoder.
    Our choice: the divergence is summed over entries and averaged over images; theirs is summed
    over the batch as well, with weight 8e-4, which is our ``kl_weight`` of 0.1024 at their batches
    of 128. The strength rises by step where theirs rises by epoch; the module is computed in
    float32; layers before a normalisation have no bias, of which it would leave nothing.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.algorithms._augmented import Ramped, RampedConfig
from medldr.algorithms.erm import ERM
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "BSDA"


class BSDAConfig(RampedConfig):
    """Keys of BSDA."""

    name: Literal["bsda"] = "bsda"
    ramp: float = Field(
        0.5, ge=0, le=1, description="part of the run after which the strength is whole"
    )
    copies: int = Field(10, ge=1, description="moved latents of each image")
    dropout: float = Field(0.8, ge=0, lt=1, description="probability that an entry is not moved")
    kl_weight: float = Field(0.1024, ge=0, description="weight of the divergence, in the strength")
    rebuilt_weight: float = Field(
        1.0, ge=0, description="weight of the decoder's loss, in the strength"
    )


class BSDA(Ramped):
    """Plain training, and the classification of randomly moved latents.

    Attributes:
        reader: From latents to what their variances follow from.
        log_variance: From there to the logarithm of each entry's variance.
        decoder: From moves back to the latent.
    """

    config: BSDAConfig

    def __init__(self, config: BSDAConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.reader = _two_layers(model.dim)
        self.log_variance = nn.Linear(model.dim, model.dim)
        self.decoder = _two_layers(model.dim)

    def augmented_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The plain loss ``loss/original`` and three terms: ``moved``, ``rebuilt`` and ``kl``."""
        if len(batch.label) == 1:
            return ERM.loss(self, model, batch)
        keys = self.config
        z = model.features(batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        with torch.autocast(z.device.type, enabled=False):
            full = z.to(torch.promote_types(z.dtype, torch.float32))
            log_variance = self.log_variance(self.reader(full))
            whole, deviation = (v.repeat(keys.copies, 1) for v in (full, (log_variance / 2).exp()))
            moves = torch.randn_like(deviation) * deviation
            rebuilt = (self.decoder(moves) - whole).square().mean() / 2
            shifted = whole + functional.dropout(moves, keys.dropout) * (whole != 0)
        label = batch.label.repeat(keys.copies, *[1] * (batch.label.ndim - 1))
        moved = self.classification_loss(model.classify(shifted), label)
        kl = divergence(log_variance)
        added = moved + keys.rebuilt_weight * rebuilt + keys.kl_weight * kl
        terms = {"original": original, "moved": moved, "rebuilt": rebuilt, "kl": kl}
        logs = {f"loss/{name}": term.detach() for name, term in terms.items()}
        return StepOutput(original + self.now * added, z, logits, logs)


def divergence(log_variance: Tensor) -> Tensor:
    """Of normal distributions around 0 from the standard one, summed over entries.

    Args:
        log_variance: ``(B, D)``.

    Returns:
        The mean over rows, at least 0.

    Example:
        >>> divergence(torch.zeros(2, 3)).item()
        0.0
        >>> round(divergence(torch.tensor([[1.0, -1.0]])).item(), 4)  # cosh(1) - 1
        0.5431
    """
    return (log_variance.exp() - 1 - log_variance).sum(1).mean() / 2


def _two_layers(dim: int) -> nn.Sequential:
    """Two layers of D x D, each with the batch's own normalisation and GELU."""
    layers = [
        layer
        for _ in range(2)
        for layer in (
            nn.Linear(dim, dim, bias=False),
            # Used in training alone, so nothing reads running statistics.
            nn.BatchNorm1d(dim, track_running_stats=False),
            nn.GELU(),
        )
    ]
    return nn.Sequential(*layers)


Config = BSDAConfig
ALGORITHM = BSDA

CONTRACT_CASES = {
    "bsda": {"keys": {"ramp": 0.0}, "one_equals_two": False},
    "bsda multi-label": {"task": "multi-label", "one_equals_two": False},
}
