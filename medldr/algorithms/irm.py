"""IRM (version 1): no domain should gain from scaling the logits up or down.

What it changes: a penalty is added to the mean of the domains' classification losses. In each
domain the logits are imagined multiplied by a number w; the slope of the loss along w, at w = 1,
says whether this domain would have the classifier more or less certain. The penalty is the square
of that slope, estimated without bias as the slope of every other image of the domain (the 1st, 3rd,
...) times that of the rest. It is averaged over the domains. In the first ``anneal_steps`` steps
its weight is 1; from then on it is ``weight``, and the optimizer is reset.

When to use: hospitals are known for the training images, and what they share is expected to be the
finding. DomainBed's table puts it above plain training on VLCS and TerraIncognita, below it on PACS
and Office-Home, and far below it on DomainNet (33.9 against 40.9).

Cost: that of ``erm``; the slopes have a closed form, so nothing is differentiated twice. No extra
parameters. Prediction does not use it.

Works with: every task and model, in 2D and 3D, and the losses ``cross_entropy`` and
``binary_cross_entropy``, whose slopes it knows. Needs two source domains or more, the sampler
``domains`` and two images of each per batch; so batches may be smaller than
``training.batch_size``. Does not work with accumulation or as a base of another method, because it
resets the optimizer. A run of ``anneal_steps`` steps or fewer never sees ``weight``. ``weight: 0``
is ``erm`` on the same batches, with the penalty logged: the row to compare with.

Settings: ``weight`` 100, ``anneal_steps`` 500, DomainBed's.

Several processes: the blocks are those of all processes' rows.

The penalty can be **negative**: the two slopes of a domain may differ in sign. Only its mean over
many batches is a square.

Source:
    Arjovsky et al., "Invariant risk minimization", 2019, in DomainBed's form: every other image, a
    mean over the domains, a weight of 1 before the switch, Adam reset at it, and no division of the
    loss by the weight. There too the whole batch passes the network at once, which matters with
    live batch normalisation.
    Our choice: where ``weight`` is 0, it is 0 before the switch as well. In that case, and with no
    steps before the switch, nothing is switched and the optimizer is not reset. With several labels
    per image, label smoothing or class weights, which the sources lack, the slope is that of the
    loss as trained, and the weighted mean is taken within each half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from medldr.algorithms._annealed import Annealed, AnnealedConfig
from medldr.algorithms._blocks import Blocks
from medldr.errors import InputError
from medldr.losses.binary_cross_entropy import BinaryCrossEntropy
from medldr.losses.cross_entropy import CrossEntropy
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

TITLE = "IRM"


class IRMConfig(AnnealedConfig):
    """Keys of IRM."""

    name: Literal["irm"] = "irm"
    weight: float = Field(100.0, ge=0, description="weight of the penalty from the switch on")


class IRM(Annealed):
    """Mean risk plus the product of the slopes of each domain's two halves."""

    rows_per_domain = 2

    def __init__(self, config: IRMConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        if type(self.classification) not in (CrossEntropy, BinaryCrossEntropy):
            loss = "an unknown loss" if config.loss is None else config.loss.name
            raise InputError(
                f"algorithm.loss: irm does not support {loss}, whose slope it would need. Use "
                "cross_entropy or binary_cross_entropy, or another algorithm (vrex)"
            )

    def penalty(self, risks: Tensor, logits: Tensor, label: Tensor, blocks: Blocks) -> Tensor:
        """See `irm_penalty`."""
        smoothing = getattr(self.classification, "label_smoothing", 0.0)
        slopes = irm_slopes(
            logits, label, multi_label=self.spec.multi_label, label_smoothing=smoothing
        )
        _, weights = self.sample_losses(logits.detach(), label)
        parts = None if weights is None else blocks.of(weights)
        return irm_penalty(blocks.of(slopes), parts)


def irm_slopes(
    logits: Tensor, target: Tensor, *, multi_label: bool = False, label_smoothing: float = 0.0
) -> Tensor:
    """Slope of each sample's loss along a factor on its logits, at a factor of 1.

    Of cross-entropy with probabilities p it is ``sum_k (p_k - t_k) s_k``; of binary cross-entropy,
    which is a mean over the known labels, the mean of ``(sigmoid(s_k) - t_k) s_k`` over these.

    Args:
        logits: ``(B, K)``, the s above.
        target: Class numbers ``(B,)``, or soft or multi-hot labels ``(B, K)``.
        multi_label: Whether the labels are decided one by one; NaN then means unknown.
        label_smoothing: As in `CrossEntropyConfig`; without meaning for multi-label.

    Returns:
        ``(B,)``, in float32 or, if the logits are, in float64.

    Example:
        >>> logits = torch.tensor([[2.0, 0.0], [2.0, 0.0]])
        >>> [round(slope, 6) for slope in irm_slopes(logits, torch.tensor([0, 1])).tolist()]
        [-0.238406, 1.761594]
    """
    with torch.autocast(logits.device.type, enabled=False):
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if multi_label:
            known = ~target.isnan()
            each = (logits.sigmoid() - target.nan_to_num()) * logits
            return torch.where(known, each, 0.0).sum(1) / known.sum(1).clamp_min(1)
        if target.ndim == 1:
            target = functional.one_hot(target, logits.shape[1])
        wanted = target.to(logits.dtype) * (1 - label_smoothing)
        wanted = wanted + label_smoothing / logits.shape[1]
        return ((logits.softmax(1) - wanted) * logits).sum(1)


def irm_penalty(slopes: Sequence[Tensor], weights: Sequence[Tensor] | None = None) -> Tensor:
    """Mean over the domains of the product of the mean slopes of every other sample and the rest.

    Args:
        slopes: ``(B_e,)`` of each domain, two samples or more; see `irm_slopes`.
        weights: Weights of the samples in these means, in the same form; all one if left out.

    Returns:
        Scalar; it may be negative.

    Raises:
        ValueError: If a domain has fewer than two samples.

    Example:
        >>> round(irm_penalty([torch.tensor([-0.238406, 1.761594])]).item(), 5)
        -0.41997
    """
    if min(len(block) for block in slopes) < 2:
        raise ValueError(
            "IRM needs at least two rows of every domain for two slopes; batches should come from "
            "the sampler 'domains'"
        )
    if weights is None:
        products = [block[0::2].mean() * block[1::2].mean() for block in slopes]
    else:
        products = [
            _mean(block[0::2], weight[0::2]) * _mean(block[1::2], weight[1::2])
            for block, weight in zip(slopes, weights, strict=True)
        ]
    return torch.stack(products).mean()


def _mean(value: Tensor, weight: Tensor) -> Tensor:
    tiny = torch.finfo(value.dtype).tiny  # all weights of a half may be zero
    return (value * weight).sum() / weight.sum().clamp_min(tiny)


Config = IRMConfig
ALGORITHM = IRM

CONTRACT_CASES = {
    "irm": {"keys": {"weight": 20.0, "anneal_steps": 2}},
    "irm, uneven": {"keys": {"weight": 5.0, "anneal_steps": 0}, "rows": 11},
    "irm multi-label": {"keys": {"weight": 20.0, "anneal_steps": 3}, "task": "multi-label"},
}
