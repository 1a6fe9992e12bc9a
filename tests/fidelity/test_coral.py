"""CORAL: mean risk, and distances of means and covariances over all pairs of domains."""

import torch
from fidelity import Case, Reference, every_step


class Coral(Reference):
    """DomainBed's: ``|m_i - m_j|^2 / d + |C_i - C_j|^2 / d^2``, the mean over pairs, weighted."""

    name = "coral"

    def update(self, batch):
        z = self.passed(batch)
        risks = self.risks(batch, self.classify(z))
        blocks = [z[batch.domain == d] for d in range(len(risks))]
        penalties = []
        for number, one in enumerate(blocks):
            for other in blocks[number + 1 :]:
                means = ((one.mean(0) - other.mean(0)) ** 2).mean()
                covariances = ((torch.cov(one.T) - torch.cov(other.T)) ** 2).mean()
                penalties.append(means + covariances)
        original, penalty = sum(risks) / len(risks), sum(penalties) / len(penalties)
        logs = {"loss/original": original.detach(), "loss/coral": penalty.detach()}
        return self.minimise(original + self.keys["weight"] * penalty) | logs


test_every_step = every_step(
    Coral,
    {
        "DomainBed's weight": Case({"weight": 1.0}),
        "two domains per batch, as in WILDS": Case(
            {"weight": 1.0, "domains_per_batch": 2}, domains=2
        ),
        "live normalisation": Case({"weight": 10.0}, norm="live"),
        "DomainBed's passes": Case({"weight": 10.0, "forward": "domain"}, norm="live"),
    },
)
