"""Fishr: variances of the head's gradients of single images, each made by itself."""

import torch
from fidelity import Case, Reference, cross_entropy, every_step


class Fishr(Reference):
    """Rame et al. 2022: ``V + g / (1 - g) V_old`` of each domain, their distance from its mean."""

    name = "fishr"

    def setup(self):
        self.average = torch.zeros(3, 4 * 8 + 4, dtype=torch.float64)

    def update(self, batch):
        z = self.features(batch.image)
        logits = self.classify(z)
        ema = self.keys.get("ema", 0.95)
        used = []
        for domain in range(3):
            rows = (batch.domain == domain).nonzero().flatten()
            each = torch.stack([self.gradient(z[i], batch.label[i]) for i in rows])
            variance = ((each - each.mean(0)) ** 2).mean(0)
            average = ema * self.average[domain] + (1 - ema) * variance
            used.append(average / (1 - ema))
            self.average[domain] = average.detach()
        used = torch.stack(used)
        penalty = ((used - used.mean(0)) ** 2).mean(1).mean()
        switch = self.keys["anneal_steps"]
        if self.index == switch != 0:
            self.reset()
        weight = self.keys.get("weight", 1000.0) if self.index >= switch else 0.0
        original = cross_entropy(logits, batch.label)
        logs = {"loss/original": original.detach(), "loss/fishr": penalty.detach()}
        return self.minimise(original + weight * penalty) | logs

    def gradient(self, z, label):
        """Of one image's loss, for the head's weights and then its bias; differentiable."""
        head = [self.w["model.head.weight"], self.w["model.head.bias"]]
        loss = cross_entropy(self.classify(z[None]), label[None])
        parts = torch.autograd.grad(loss, head, create_graph=True)
        return torch.cat([part.flatten() for part in parts])

    def tracked(self):
        return {**super().tracked(), "algorithm.average": self.average.clone()}


test_every_step = every_step(
    Fishr,
    {
        "switched": Case({"anneal_steps": 3}),
        "from the start": Case({"anneal_steps": 0, "ema": 0.5, "weight": 200.0}),
        "live normalisation": Case({"anneal_steps": 2}, norm="live"),
    },
)
