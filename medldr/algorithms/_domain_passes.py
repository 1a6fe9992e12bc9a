"""Which images pass the network together: the whole batch, or those of one domain.

It matters with live batch normalisation alone, which takes its statistics from what passes
together. With frozen statistics, and without batch normalisation, the latents are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._blocks import Blocks, ComparesDomains
from medldr.algorithms.base import AlgorithmConfig
from medldr.models.base import FeatureModel
from medldr.types import Batch, StepOutput

Forward = Literal["batch", "domain"]


class DomainPassesConfig(AlgorithmConfig):
    """Keys of an algorithm that DomainBed runs on one domain at a time."""

    forward: Forward = Field(
        "batch",
        description="images that pass the network together and so share the statistics of live "
        "batch normalisation: the whole batch, or those of one domain, as in DomainBed",
    )


def domain_features(model: FeatureModel, batch: Batch, forward: Forward) -> Tensor:
    """Latents ``(B, D)`` of a batch, in its order.

    Args:
        model: The network.
        batch: The rows of this process.
        forward: ``batch`` for one pass; ``domain`` for a pass over the rows of each domain, in
            ascending order of its number. Running statistics then move once per pass, and each
            process normalises its own rows, as always.

    Source:
        DomainBed runs CORAL, MMD and GroupDRO in this form, but IRM, VREx, Fishr and DANN on the
        whole batch; its published tables have frozen batch normalisation, where both are equal.
        WILDS runs CORAL on the whole batch.
    """
    if forward == "batch":
        return model.features(batch.image)
    order = batch.domain.argsort(stable=True)
    _, sizes = torch.unique(batch.domain, return_counts=True)
    parts = torch.split(batch.image[order], sizes.tolist())
    z = torch.cat([model.features(part) for part in parts])
    return z[order.argsort()]


class DomainPenaltyConfig(DomainPassesConfig):
    """Keys of a penalty on the latents of domains."""

    weight: float = Field(1.0, ge=0, description="weight of the penalty")


class DomainPenalty(ComparesDomains):
    """Classification loss plus a weighted penalty on how the latents of domains differ."""

    set_based = True
    config: DomainPenaltyConfig

    def penalty(self, blocks: Sequence[Tensor]) -> Tensor:
        """The penalty on the latents ``(B_e, D)`` of each domain, over all processes."""
        raise NotImplementedError

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The loss of a batch: ``loss/original``, and the penalty under the method's name."""
        # Before the network runs: the host waits for the sizes, and a compiled loss stays whole.
        blocks = Blocks(batch.domain)
        z = domain_features(model, batch, self.config.forward)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        penalty = self.penalty(blocks.of(z))
        name = self.config.name.rpartition(".")[2]
        logs = {"loss/original": original.detach(), f"loss/{name}": penalty.detach()}
        return StepOutput(original + self.config.weight * penalty, z, logits, logs)
