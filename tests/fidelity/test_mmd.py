"""MMD: mean risk, and the discrepancy under seven Gaussian kernels over all pairs of domains."""

import torch
from fidelity import Case, Reference, every_step


class Mmd(Reference):
    """DomainBed's: ``mean K_xx + mean K_yy - 2 mean K_xy``, diagonals among them."""

    name = "mmd"

    def update(self, batch):
        z = self.passed(batch)
        risks = self.risks(batch, self.classify(z))
        blocks = [z[batch.domain == d] for d in range(len(risks))]
        penalties = [
            similarity(one, one) + similarity(other, other) - 2 * similarity(one, other)
            for number, one in enumerate(blocks)
            for other in blocks[number + 1 :]
        ]
        original, penalty = sum(risks) / len(risks), sum(penalties) / len(penalties)
        logs = {"loss/original": original.detach(), "loss/mmd": penalty.detach()}
        return self.minimise(original + self.keys["weight"] * penalty) | logs


def similarity(one, other):
    squared = ((one[:, None] - other[None]) ** 2).sum(2)
    return sum(torch.exp(-(10.0**power) * squared).mean() for power in range(-3, 4))


test_every_step = every_step(
    Mmd,
    {
        "DomainBed's weight": Case({"weight": 1.0}),
        "live normalisation": Case({"weight": 0.3}, norm="live"),
        "DomainBed's passes": Case({"weight": 0.3, "forward": "domain"}, norm="live"),
    },
)
