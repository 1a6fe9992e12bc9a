"""Methods that augment latents, by a strength that follows the run (ISDA, BSDA, XDomainMix)."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms.base import AlgorithmConfig, Step
from medldr.algorithms.erm import ERM
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput


class AugmentedConfig(AlgorithmConfig):
    """Keys of a method that augments latents."""

    strength: float = Field(0.5, ge=0, description="what the augmentation counts; 0: erm")


class RampedConfig(AugmentedConfig):
    """Keys of a strength that rises in a straight line."""

    ramp: float = Field(
        1.0, ge=0, le=1, description="part of the run after which the strength is whole"
    )


class Augmented(ERM):
    """Plain training, to which the latents of a batch add something of their own.

    With strength 0, and outside training, it is ERM bit for bit, and nothing is drawn.

    Attributes:
        now: ``()``, the strength at this step. Only `update` changes it.
    """

    config: AugmentedConfig

    def __init__(self, config: AugmentedConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.now: Tensor
        self.register_buffer("now", torch.tensor(self.config.strength * self.part_of(0.0)))

    def part_of(self, progress: float) -> float:
        """The part of the strength, 0 to 1, after this part of the run."""
        raise NotImplementedError

    def augmented_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The loss of a batch in training, at the strength `now`."""
        raise NotImplementedError

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The method's loss; the classification loss where nothing is augmented."""
        if self.training and self.config.strength:
            return self.augmented_loss(model, batch)
        return super().loss(model, batch)

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """One optimizer step, at the strength of this step."""
        self.now.fill_(self.config.strength * self.part_of(step.index / step.total))
        return super().update(step, batch)


class Ramped(Augmented):
    """A strength that rises in a straight line, and then stays."""

    config: RampedConfig

    def part_of(self, progress: float) -> float:
        """The part of the strength after this part of the run."""
        return min(1.0, progress / self.config.ramp) if self.config.ramp else 1.0
