"""Shared by Mixup, CutMix and Manifold Mixup: pairs of rows, and the loss of a mixed pair.

Each batch has one share (the papers' lambda) and one permutation, which gives every row its
partner. They are drawn on the CPU from torch's global generator: a checkpoint holds their state
and every device sees the same pairs. The share stays a tensor: no step waits for it, and code is
not recompiled for each of its values.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.distributions import Beta

from medldr.algorithms.base import AlgorithmConfig, accuracy
from medldr.algorithms.erm import ERM
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput


class Pairs(NamedTuple):
    """Which rows are mixed, and how much each row keeps of itself.

    Attributes:
        share: Scalar in [0, 1], the papers' lambda: 1 leaves every row unchanged, 0 replaces it.
        partner: ``(B,)`` int64, a permutation of the row numbers.
    """

    share: Tensor
    partner: Tensor

    def on(self, device: torch.device) -> Pairs:
        """The same pairs on a device, the share in float32."""
        queued = device.type == "cuda"  # without it the host would wait for the device
        share = self.share.to(device, torch.float32, non_blocking=queued)
        return Pairs(share, self.partner.to(device, non_blocking=queued))


def draw_pairs(rows: int, concentration: float) -> Pairs:
    """One share from Beta(concentration, concentration) and one permutation of the rows.

    Concentration 0 means no mixing: share 1, every row its own partner, and nothing is drawn.

    Args:
        rows: Rows ``B`` of the batch.
        concentration: Below 1 most shares are near 0 or 1; at 1 they are uniform.

    Returns:
        Pairs on the CPU, the share in float64.

    Example:
        >>> draw_pairs(3, 0.0)
        Pairs(share=tensor(1., dtype=torch.float64), partner=tensor([0, 1, 2]))
    """
    if concentration == 0:
        return Pairs(torch.ones((), dtype=torch.float64), torch.arange(rows))
    # In float64 the gamma draws behind a small concentration do not underflow.
    parameter = torch.tensor(concentration, dtype=torch.float64)
    return Pairs(Beta(parameter, parameter).sample(), torch.randperm(rows))


def blend(value: Tensor, pairs: Pairs) -> Tensor:
    """``share * value + (1 - share) * value of the partner``, in the value's dtype and layout.

    Exactly the value at share 1, exactly the partner's at share 0.

    Args:
        value: ``(B, ...)``, images or maps, on the pairs' device.
        pairs: Of the rows.

    Example:
        >>> pairs = Pairs(torch.tensor(0.75), torch.tensor([1, 0]))
        >>> blend(torch.tensor([[0.0], [4.0]]), pairs)
        tensor([[1.],
                [3.]])
    """
    other = value[pairs.partner]
    return torch.lerp(value, other, (1 - pairs.share).to(value.dtype))


class PairMixing(ERM):
    """Classifies mixtures of pairs; a subclass defines what is mixed, and where.

    The loss is ``share * loss(logits, own label) + (1 - share) * loss(logits, partner's label)``.
    For cross-entropy that is the loss against the mixed label; labels are never converted, so
    hard, soft and multi-hot labels, missing ones and class weights work as without mixing. The
    partners' labels are the batch's own in another order, so both terms of a class-weighted loss
    divide by the same sum of weights.

    Outside training nothing is mixed, and the loss is that of ERM.
    """

    mixes_labels = True

    def draw(self, rows: int) -> Pairs:
        """The pairs of a batch, on the CPU."""
        raise NotImplementedError

    def mixed_latents(
        self, model: FeatureModel, image: Tensor, pairs: Pairs
    ) -> tuple[Tensor, Pairs]:
        """Latents ``(B, D)`` of the mixture, and the pairs on the image's device.

        The share that is returned is the one that the labels get.
        """
        raise NotImplementedError

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The two-term loss; also logged: the share, and the accuracy weighted by it."""
        if not self.training:
            return super().loss(model, batch)
        z, (share, partner) = self.mixed_latents(model, batch.image, self.draw(len(batch.image)))
        logits = model.classify(z)
        own, other = batch.label, batch.label[partner]
        loss = share * self.classification_loss(logits, own)
        loss = loss + (1 - share) * self.classification_loss(logits, other)
        right = logits.detach()
        logs = {
            "loss/mixed": loss.detach(),
            "accuracy/mixed": share * accuracy(right, own) + (1 - share) * accuracy(right, other),
            "lambda": share,
        }
        return StepOutput(loss, z, logits, logs)


class AlphaConfig(AlgorithmConfig):
    """Keys of a method whose shares are drawn for every batch."""

    alpha: float = Field(
        0.2,
        ge=0,
        allow_inf_nan=False,
        description="lambda ~ Beta(alpha, alpha); 0: no mixing",
    )


class AlphaMixing(PairMixing):
    """Shares from ``Beta(alpha, alpha)``."""

    config: AlphaConfig

    def __init__(self, config: AlphaConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        if spec.bags:
            raise InputError(
                f"algorithm {config.name} blends what the network is given, and bags of latents "
                "have no common rows to blend. Choose a method that works on what is made of a "
                "bag, such as erm or latentdr, or set data.bag: mean"
            )

    def draw(self, rows: int) -> Pairs:
        """The pairs of a batch, on the CPU."""
        return draw_pairs(rows, self.config.alpha)
