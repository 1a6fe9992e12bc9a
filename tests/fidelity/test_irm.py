"""IRM: the slope along a factor on the logits, from two halves of every domain."""

import torch
from fidelity import Case, Reference, cross_entropy, every_step


class IRM(Reference):
    """Arjovsky et al. 2019, version 1, DomainBed: the slope of every other row times the rest's."""

    name = "irm"

    def update(self, batch):
        logits = self.classify(self.features(batch.image))
        risks, penalties = self.risks(batch, logits), []
        for domain in range(3):
            mine = (batch.domain == domain).nonzero().flatten()
            slopes = []
            for half in (mine[0::2], mine[1::2]):
                factor = torch.ones((), dtype=torch.float64, requires_grad=True)
                loss = cross_entropy(factor * logits[half], batch.label[half])
                slopes.append(torch.autograd.grad(loss, factor, create_graph=True)[0])
            penalties.append(slopes[0] * slopes[1])
        original, penalty = sum(risks) / 3, sum(penalties) / 3
        switch = self.keys["anneal_steps"]
        if self.index == switch:
            self.reset()
        weight = self.keys.get("weight", 100.0) if self.index >= switch else 1.0
        logs = {"loss/original": original.detach(), "loss/irm": penalty.detach()}
        return self.minimise(original + weight * penalty) | logs


test_every_step = every_step(
    IRM,
    {
        "switched": Case({"anneal_steps": 3}),
        "from the start": Case({"anneal_steps": 0, "weight": 10.0}),
        "live normalisation": Case({"anneal_steps": 2}, norm="live"),
    },
)
