"""Fishr: gradients of the classifier should have the same variance in all domains.

What it changes: each image has a gradient of its cross-entropy with respect to the weights and the
bias of the head. Within each domain of the batch the variance of every entry is taken and averaged
over steps; what is added to the classification loss is the mean squared distance of the domains'
variances from their mean, ``weight`` times, from step ``anneal_steps`` on.

When to use: hospitals are known for the training images, each with a few images in every batch. On
DomainBed's photographs its authors' table is within a point or so of plain training (85.5 on PACS,
67.8 on OfficeHome, against 85.5 and 66.5). Their settings differ strongly between data sets, so
look for ``weight`` on validation data.

Cost: no extra parameters; one (K, D) matrix per domain in the graph and one in a buffer,
B x K x D multiplications per step. Per-sample gradients, (B, K, D), are never made. Prediction does
not use it.

Works with: every task and loss, in 2D and 3D; networks with ``head: linear``. Needs two source
domains or more and the sampler ``domains``; one image per domain has no variance, so it asks for
two. Does not work with accumulation, or as a base of another method: it counts steps. A run of
``anneal_steps`` steps or fewer never has the penalty. ``weight: 0`` is ``erm`` on the same batches,
with the penalty logged.

Settings: ``weight`` 1000, ``anneal_steps`` 1500, ``ema`` 0.95 (DomainBed's). **Read ``weight``
together with ``ema``:** what is compared is the running average divided by ``1 - ema``. It begins
as the step's own variance and grows to ``1 / (1 - ema)`` times that: for constant variances the
penalty with ``ema`` 0.95 ends 400 times as large as it began. With ``anneal_steps`` above about 100
the penalty starts after that growth.

Several processes: variances are those of the rows of all processes, and so is their average.

Source:
    Rame et al., "Fishr: invariant gradient variances for out-of-distribution generalization", 2022,
    and its code in DomainBed: population variance, weights and bias together, no gradient through
    what was averaged before, penalty and average computed in all steps, the optimizer's state
    forgotten when the penalty sets in. There too the whole batch passes the network at once, which
    matters with live batch normalisation. There the average is lost when a run is resumed; here it
    is a buffer.
    Our choice: variances in closed form, ``(R o R)^T (Z o Z) / B - (R^T Z / B)^2`` with
    ``R = softmax(logits) - label``. R is always that of plain cross-entropy (multi-label: of binary
    cross-entropy, over the known labels of a sample), whatever `algorithm.loss` and
    `training.class_weights` are: weights would make a rare class's few images most of a
    variance, and the domains' class shares most of what differs. No state is forgotten where
    ``weight`` is 0.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from medldr.algorithms._annealed import Annealed, AnnealedConfig
from medldr.algorithms._blocks import Blocks
from medldr.algorithms.base import linear_head
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "Fishr"


class FishrConfig(AnnealedConfig):
    """Keys of Fishr."""

    name: Literal["fishr"] = "fishr"
    weight: float = Field(1000.0, ge=0, description="weight of the penalty; depends on ema")
    anneal_steps: int = Field(1500, ge=0, description="steps before the penalty starts")
    ema: float = Field(0.95, ge=0, lt=1, description="decay of the running average")


class Fishr(Annealed):
    """Mean classification loss plus the distance of the domains' gradient variances.

    Attributes:
        average: ``(n, K D + K)``, the running average of each source domain's variances: weights
            ``(K, D)`` row by row, then the bias.
    """

    rows_per_domain = 2
    before = 0.0
    config: FishrConfig

    def __init__(self, config: FishrConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        weight = linear_head(config.name, model).weight
        kind = torch.promote_types(weight.dtype, torch.float32)
        entries = spec.num_classes * (model.dim + 1)
        self.average: Tensor
        self.register_buffer("average", torch.zeros(len(spec.train_domains), entries, dtype=kind))

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The classification loss plus the penalty, logged as ``original`` and ``fishr``."""
        # Before the network runs: the host waits for the sizes, and a compiled loss stays whole.
        blocks = Blocks(batch.domain)
        z = model.features(batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        penalty = self._penalty(z, logits, batch.label, blocks)
        logs = {"loss/original": original.detach(), "loss/fishr": penalty.detach()}
        return StepOutput(original + self.weighted(penalty), z, logits, logs)

    def _penalty(self, z: Tensor, logits: Tensor, label: Tensor, blocks: Blocks) -> Tensor:
        with torch.autocast(z.device.type, enabled=False):
            kind = torch.promote_types(z.dtype, torch.float32)
            errors = residuals(logits.to(kind), label, multi_label=self.spec.multi_label)
            pairs = zip(blocks.of(errors), blocks.of(z.to(kind)), strict=True)
            now = torch.stack([gradient_variances(r, latents) for r, latents in pairs])
            rows = torch.tensor(blocks.domains, device=self.average.device)
            before = self.average[rows].to(kind)
            if self.training:
                kept = self.config.ema * before + (1 - self.config.ema) * now.detach()
                self.average[rows] = kept.to(self.average.dtype)
            used = now + self.config.ema / (1 - self.config.ema) * before
            return (used - used.mean(0)).square().mean()


def residuals(logits: Tensor, label: Tensor, *, multi_label: bool) -> Tensor:
    """Gradient of each sample's cross-entropy with respect to its logits.

    Args:
        logits: ``(B, K)``.
        label: Class numbers ``(B,)`` or soft labels ``(B, K)``; multi-hot with NaN for what is not
            known if ``multi_label``.
        multi_label: Binary cross-entropy, the mean over a sample's known labels.

    Returns:
        ``(B, K)``; 0 where a label is not known.

    Example:
        >>> residuals(torch.zeros(1, 2), torch.tensor([1]), multi_label=False)
        tensor([[ 0.5000, -0.5000]])
        >>> label = torch.tensor([[1.0, float("nan")]])
        >>> residuals(torch.zeros(1, 2), label, multi_label=True)
        tensor([[-0.5000,  0.0000]])
    """
    if multi_label:
        known = ~label.isnan()
        away = torch.where(known, logits.sigmoid() - label.nan_to_num().to(logits.dtype), 0.0)
        return away / known.sum(1, keepdim=True).clamp_min(1)
    if label.ndim == 1:
        label = functional.one_hot(label, logits.shape[1])
    return logits.softmax(1) - label.to(logits.dtype)


def gradient_variances(errors: Tensor, z: Tensor) -> Tensor:
    """Variance over samples of every entry of a linear head's gradient, in closed form.

    The gradient of sample ``i`` is ``errors_i z_i^T`` for the weights and ``errors_i`` for the
    bias. The variance is the population's: it divides by the number of samples.

    Args:
        errors: ``(B, K)``, see `residuals`.
        z: ``(B, D)`` latents.

    Returns:
        ``(K D + K,)``: the weights row by row, then the bias. All 0 for one sample.

    Example:
        >>> errors = torch.tensor([[1.0], [-1.0]])
        >>> gradient_variances(errors, torch.tensor([[2.0, 0.0], [2.0, 4.0]])).tolist()
        [4.0, 4.0, 1.0]
    """
    z = functional.pad(z, (0, 1), value=1.0)  # the bias is the weight of a latent that is 1
    rows = len(z)
    mean = errors.T @ z / rows
    variance = errors.square().T @ z.square() / rows - mean.square()
    return torch.cat([variance[:, :-1].flatten(), variance[:, -1]])


Config = FishrConfig
ALGORITHM = Fishr

CONTRACT_CASES = {
    "fishr": {"keys": {"weight": 50.0, "anneal_steps": 2}},
    "fishr, uneven": {"keys": {"weight": 50.0, "anneal_steps": 0, "ema": 0.5}, "rows": 11},
    "fishr multi-label": {"keys": {"weight": 50.0, "anneal_steps": 1}, "task": "multi-label"},
}
