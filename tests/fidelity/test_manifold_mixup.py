"""Manifold Mixup: the mixture of Mixup at a place drawn for every batch."""

import numpy as np
import torch
from fidelity import STEPS, Case, Reference, cross_entropy, every_step


class ManifoldMixup(Reference):
    """Verma et al. 2019: what follows the place, the input among them, sees the mixture alone."""

    name = "manifold_mixup"

    def setup(self):
        self.places = set()

    def update(self, batch):
        places = ("input", "stage1", "stage2")
        alpha = torch.tensor(self.keys["alpha"], dtype=torch.float64)
        share = np.float32(torch.distributions.Beta(alpha, alpha).sample().item())
        partner = torch.randperm(len(batch.label))
        place = places[int(torch.randint(len(places), ()))]
        own, other = float(share), float(np.float32(1) - share)  # held in float32

        def mixed(value):
            return (1 - other) * value + other * value[partner]

        if place == "input":
            z = self.features(mixed(batch.image))
        else:
            z = self.features(batch.image, {place: mixed})
        logits = self.classify(z)
        loss = own * cross_entropy(logits, batch.label)
        loss = loss + other * cross_entropy(logits, batch.label[partner])
        self.places.add(place)
        assert self.index < STEPS - 1 or self.places == set(places)  # the draws of the test see all
        return self.minimise(loss)


test_every_step = every_step(
    ManifoldMixup,
    {
        "of the authors": Case({"alpha": 2.0}),
        "of the SWAD code": Case({"alpha": 0.2}),
        "live normalisation": Case({"alpha": 2.0}, norm="live"),
    },
)
