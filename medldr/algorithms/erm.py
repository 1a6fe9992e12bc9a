"""ERM: the mean classification loss and nothing else.

What it changes: nothing; this is plain training, the baseline for every other method.
When to use: always, as the baseline of a comparison.
Cost: no extra parameters, no extra time.
Works with: every task, model, sampler and loss; one or several processes; accumulation.
Settings: none of its own. ``lr_scale: 0.5`` is the control for LatentDR's learning rate.

Source:
    Empirical risk minimisation; for domain generalization Gulrajani and Lopez-Paz, "In search of
    lost domain generalization", 2021.
"""

from __future__ import annotations

from typing import Literal

from medldr.algorithms.base import Algorithm, AlgorithmConfig
from medldr.models.base import FeatureModel
from medldr.types import Batch, StepOutput

TITLE = "ERM"


class ERMConfig(AlgorithmConfig):
    """Keys of ERM: those of every algorithm."""

    name: Literal["erm"] = "erm"


class ERM(Algorithm):
    """Mean classification loss of the batch."""

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The classification loss of the images, logged as ``loss/original``."""
        z = model.features(batch.image)
        logits = model.classify(z)
        loss = self.classification_loss(logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})


Config = ERMConfig
ALGORITHM = ERM
