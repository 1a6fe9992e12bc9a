"""VREx: the variance of the risks, whose weight is switched."""

import torch
from fidelity import Case, Reference, every_step


class VREx(Reference):
    """Krueger et al. 2021, DomainBed: weight 1 before the switch, and a new optimizer at it."""

    name = "vrex"

    def update(self, batch):
        risks = torch.stack(self.risks(batch, self.classify(self.features(batch.image))))
        mean = risks.sum() / len(risks)
        penalty = ((risks - mean) ** 2).sum() / len(risks)
        switch = self.keys["anneal_steps"]
        if self.index == switch and self.keys.get("reset_optimizer", True):
            self.reset()
        weight = self.keys.get("weight", 10.0) if self.index >= switch else 1.0
        logs = {"loss/original": mean.detach(), "loss/vrex": penalty.detach()}
        return self.minimise(mean + weight * penalty) | logs


test_every_step = every_step(
    VREx,
    {
        "switched": Case({"anneal_steps": 3}),
        "from the start": Case({"anneal_steps": 0}),
        "never in this run": Case({"anneal_steps": 500}),
        "momentum kept": Case({"anneal_steps": 2, "reset_optimizer": False, "weight": 50.0}),
        "live normalisation": Case({"anneal_steps": 3}, norm="live"),
    },
)
