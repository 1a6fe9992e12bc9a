"""Methods that change feature maps after some stages of the network (MixStyle and DSU)."""

from __future__ import annotations

import torch
from torch import Tensor

from medldr.algorithms.base import AlgorithmConfig
from medldr.algorithms.erm import ERM
from medldr.models.base import FeatureModel, Tap
from medldr.types import Batch, DataSpec, StepOutput


class AtStages(ERM):
    """Mean classification loss of a batch whose maps are changed along the way.

    Attributes:
        taps: By stage, all the one bound method `changed`.
        p: Probability that a stage's output is changed.
    """

    def __init__(
        self,
        config: AlgorithmConfig,
        spec: DataSpec,
        model: FeatureModel,
        stages: tuple[str, ...],
        p: float,
    ) -> None:
        super().__init__(config, spec, model)
        self.p = p
        model.require_stages(stages, "algorithm.stages", maps=True)
        self.taps: dict[str, Tap] = dict.fromkeys(stages, self.changed)

    def changed(self, value: Tensor) -> Tensor:
        """The tap: maps ``(B, C, [D,] H, W)`` as the next stage sees them."""
        raise NotImplementedError

    def draw_stages(self) -> list[str]:
        """The stages whose output is changed in this step, each with probability p."""
        active = torch.rand(len(self.taps)) < self.p
        return [stage for stage, on in zip(self.taps, active.tolist(), strict=True) if on]

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The classification loss of changed maps, logged as ``loss/original``."""
        # A stage that is not changed has no tap: the network is then ERM's, bit for bit.
        taps = {stage: self.taps[stage] for stage in self.draw_stages()} if self.training else {}
        z = model.features(batch.image, taps)
        logits = model.classify(z)
        loss = self.classification_loss(logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})


def style(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each channel over all positions: the style of a map.

    Args:
        x: ``(B, C, [D,] H, W)``, of two positions or more.
        eps: Added to the unbiased variance, under the root.

    Returns:
        Both ``(B, C, 1, ...)``.

    Example:
        >>> mean, deviation = style(torch.tensor([1.0, 3.0]).reshape(1, 1, 1, 2), 0.0)
        >>> mean.item(), round(deviation.item(), 4)
        (2.0, 1.4142)
    """
    axes = tuple(range(2, x.ndim))
    mean = x.mean(axes, keepdim=True)
    # In two passes: with channels last, torch's var_mean is several times slower on CPUs.
    spread = (x - mean).square().sum(axes, keepdim=True) / (x[0, 0].numel() - 1)
    return mean, (spread + eps).sqrt()


def moved(drawn: Tensor, device: torch.device) -> Tensor:
    """What was drawn on the host, on a device; without the host waiting for CUDA's queue."""
    return drawn.to(device, non_blocking=device.type == "cuda")
