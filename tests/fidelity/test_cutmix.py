"""CutMix: a box of the partner's image, and labels in proportion to the area that it really has.

Images are 8 x 6: height and width cannot be exchanged without notice. The share of the area is held
in float32, like all that is sent to a device, so the reference rounds it too.
"""

import math

import numpy as np
import torch
from fidelity import Case, Reference, cross_entropy, every_step


class CutMix(Reference):
    """Yun et al. 2019: sides ``sqrt(1 - l)``, clipped; l again from the area that is left."""

    name = "cutmix"

    def update(self, batch):
        beta = torch.tensor(self.keys.get("beta", 1.0), dtype=torch.float64)
        share = torch.distributions.Beta(beta, beta).sample().item()
        partner = torch.randperm(len(batch.label))
        mixes = self.keys.get("prob", 1.0) == 1 or torch.rand(()).item() < self.keys["prob"]
        sides = batch.image.shape[2:]
        centre = [int(torch.randint(side, ())) for side in sides]
        image = batch.image.clone()
        label = torch.eye(self.classes, dtype=torch.float64)[batch.label]
        if mixes:
            rows, columns = (
                slice(max(0, c - half), min(side, c + half))
                for c, side in zip(centre, sides, strict=True)
                for half in [math.floor(side * math.sqrt(1 - share)) // 2]
            )
            image[:, :, rows, columns] = batch.image[partner][:, :, rows, columns]
            area = image[0, 0, rows, columns].numel() / image[0, 0].numel()
            own = np.float32(1 - area)
            label = float(own) * label + float(np.float32(1) - own) * label[partner]
        return self.minimise(cross_entropy(self.classify(self.features(image)), label))


test_every_step = every_step(
    CutMix,
    {
        "every batch": Case(),
        "half of the batches": Case({"prob": 0.5}),
        "another beta": Case({"beta": 0.3}),
        "live normalisation": Case(norm="live"),
    },
)
