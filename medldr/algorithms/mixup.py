"""Mixup: blend every image with another of the batch, and predict both labels in that proportion.

What it changes: the network sees ``lambda * image + (1 - lambda) * partner's image`` and its loss
is ``lambda * loss(own label) + (1 - lambda) * loss(partner's label)``. There is one lambda, from
Beta(alpha, alpha), and one permutation of the batch per step. Prediction does not mix.

When to use: as the simplest mixing baseline; for small data sets and overconfident networks. A
blend of two scans is not a scan, so it does not always help in medicine: in the LatentDR paper it
lowers accuracy on some data sets.

Cost: no extra parameters; one weighted sum of the images, next to nothing in time.

Works with: every task, model and classification loss, missing labels, accumulation (each pass
draws and mixes its own rows). Does not work as the ``base`` of a method that needs true labels.

Several processes: each mixes its own rows, with a lambda and a permutation of its own.

Class weights: they weigh the samples of both terms, each by the label of that term.

Logged: ``lambda``; ``accuracy/mixed``, the accuracy on mixed images, which counts a label as much
as lambda does. A plain training accuracy is not logged: it would score only half of a mixture.

Settings: ``alpha`` 0.2. 0 is ERM, bit for bit.

Source:
    Zhang et al., "mixup: Beyond empirical risk minimization", 2018; one lambda per batch and a
    permutation of it as in their code. LatentDR compares with this plain form, not with the one
    that pairs domains, and does not state alpha: 0.2 is the value of the SWAD code base, whose
    protocol it follows (the mixup authors' CIFAR code has 1.0). Mixing across the whole batch,
    whatever the domains, is plain Mixup's; drawing per process is our choice.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from medldr.algorithms._mixing import AlphaConfig, AlphaMixing, Pairs, blend
from medldr.models.base import FeatureModel

TITLE = "Mixup"


class MixupConfig(AlphaConfig):
    """Keys of Mixup."""

    name: Literal["mixup"] = "mixup"


class Mixup(AlphaMixing):
    """Blends images."""

    def mixed_latents(
        self, model: FeatureModel, image: Tensor, pairs: Pairs
    ) -> tuple[Tensor, Pairs]:
        """Latents of the blended images."""
        pairs = pairs.on(image.device)
        return model.features(blend(image, pairs)), pairs


Config = MixupConfig
ALGORITHM = Mixup

CONTRACT_CASES = {
    "mixup": {"keys": {"alpha": 1.0}, "one_equals_two": False},
    "mixup multi-label": {"keys": {"alpha": 1.0}, "task": "multi-label", "one_equals_two": False},
    "mixup without mixing": {"keys": {"alpha": 0.0}},
}
