"""Mixup: one share and one permutation for a batch, and the cross-entropy of the mixed label.

The share is held in float32, like all that is sent to a device, so the reference rounds it too.
"""

import numpy as np
import torch
from fidelity import Case, Reference, cross_entropy, every_step


class Mixup(Reference):
    """Zhang et al. 2018: ``x = l x_i + (1 - l) x_j``, and the labels alike, ``l ~ Beta(a, a)``."""

    name = "mixup"

    def update(self, batch):
        alpha = torch.tensor(self.keys["alpha"], dtype=torch.float64)
        share = np.float32(torch.distributions.Beta(alpha, alpha).sample().item())
        partner = torch.randperm(len(batch.label))
        own, other = float(share), float(np.float32(1) - share)
        mixed = (1 - other) * batch.image + other * batch.image[partner]
        label = torch.eye(self.classes, dtype=torch.float64)[batch.label]
        label = own * label + other * label[partner]
        return self.minimise(cross_entropy(self.classify(self.features(mixed)), label))


test_every_step = every_step(
    Mixup,
    {
        "of the paper": Case({"alpha": 1.0}),
        "of the SWAD code": Case({"alpha": 0.2}),
        "live normalisation": Case({"alpha": 1.0}, norm="live"),
    },
)
