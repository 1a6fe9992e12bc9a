"""Penalties whose weight is switched to its value after some steps (VREx, IRM and Fishr)."""

from __future__ import annotations

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._blocks import Blocks, ComparesDomains, domain_risks
from medldr.algorithms.base import AlgorithmConfig, Step
from medldr.config import RunConfig
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput


class AnnealedConfig(AlgorithmConfig):
    """Keys of a penalty that is switched."""

    weight: float = Field(1.0, ge=0, description="weight of the penalty from the switch on")
    anneal_steps: int = Field(
        500,
        ge=0,
        description="steps before the switch, during which the weight is 1 (with weight 0: 0)",
    )
    reset_optimizer: bool = Field(
        True, description="forget the optimizer's running state (momentum) at the switch"
    )


class Annealed(ComparesDomains):
    """A loss with a penalty whose weight `update` switches.

    Attributes:
        before: Factor of the penalty until the switch; with weight 0 it is always 0.
        steps: ``()`` int64, optimizer steps made before this one; a buffer, so a resumed run
            continues the count. Only `update` increments it, so `loss` may be called at any time.
    """

    rows_per_domain = 1
    set_based = True
    before = 1.0
    config: AnnealedConfig

    def __init__(self, config: AnnealedConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.steps: Tensor
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def weighted(self, penalty: Tensor) -> Tensor:
        """The penalty times the weight of this step, in the penalty's own precision."""
        weight = self.config.weight
        before = self.before if weight else 0.0
        early = self.steps < self.config.anneal_steps
        return torch.where(early, before * penalty, weight * penalty)

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """A note where the run ends before the switch."""
        weight, first = self.config.weight, self.config.anneal_steps
        if not weight or steps > first:
            return []
        return [
            f"algorithm {self.config.name} uses its weight of {weight:g} from step "
            f"{first + 1} on (algorithm.anneal_steps), but the run has {steps} steps: "
            f"its penalty keeps the weight {self.before:g}. Set algorithm.anneal_steps below "
            f"{steps}"
        ]

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """One optimizer step; that of the switch begins with a fresh optimizer."""
        self.steps.fill_(step.index)
        switches = step.index == self.config.anneal_steps > 0 and self.config.weight > 0
        if switches and self.config.reset_optimizer:
            step.reset_optimizer()
        return super().update(step, batch)

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """Mean of the domains' risks plus the penalty, under the method's name; all are logged."""
        blocks = Blocks(batch.domain)
        z = model.features(batch.image)
        logits = model.classify(z)
        risks = domain_risks(self, logits, batch.label, blocks)
        original, penalty = risks.mean(), self.penalty(risks, logits, batch.label, blocks)
        logs = {
            "loss/original": original.detach(),
            f"loss/{self.config.name.rpartition('.')[2]}": penalty.detach(),
            **self.risk_logs(blocks, risks),
        }
        return StepOutput(original + self.weighted(penalty), z, logits, logs)

    def penalty(self, risks: Tensor, logits: Tensor, label: Tensor, blocks: Blocks) -> Tensor:
        """The penalty on the domains, whose risks are ``(n,)``."""
        raise NotImplementedError
