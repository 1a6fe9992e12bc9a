"""SagNet in DomainBed's form: three updates by three optimizers in every step."""

import torch
from fidelity import Case, Reference, cross_entropy, every_step


class SagNet(Reference):
    """Nam et al. 2021, DomainBed: content, style, and the encoder against style."""

    name = "sagnet"

    def groups(self):
        content, style = self.own("model.head."), self.own("algorithm.style_head.")
        others = [n for n in self.w if n not in {*content, *style}]
        return {name: [(n, {})] for name, n in zip("fct", (others, content, style), strict=True)}

    def update(self, batch):
        z = self.features(batch.image)
        content = cross_entropy(self.classify(self.in_a_random_style(z)), batch.label)
        self.minimise(content, "f", "c")
        style = cross_entropy(self.by_style(self.features(batch.image)), batch.label)
        self.minimise(style, "t")
        guess = self.by_style(self.features(batch.image))
        weight = self.keys.get("weight", 0.1)
        against = -weight * (guess - guess.logsumexp(1, keepdim=True)).mean()
        self.minimise(against, "f")
        return {
            "loss": content.detach(),
            "loss/content": content.detach(),
            "loss/style": style.detach(),
            "loss/adversarial": against.detach(),
        }

    def in_a_random_style(self, z):
        mean, variance = z.mean(1, keepdim=True), z.var(1, keepdim=True)
        share = torch.rand(len(z), 1).double()
        partner = torch.randperm(len(z))
        new_mean = share * mean + (1 - share) * mean[partner]
        new_variance = share * variance + (1 - share) * variance[partner]
        return (z - mean) / (variance + 1e-5).sqrt() * (new_variance + 1e-5).sqrt() + new_mean

    def by_style(self, z):
        mean, variance = z.mean(1, keepdim=True), z.var(1, keepdim=True)
        content = (z - mean) / (variance + 1e-5).sqrt()
        content = content[torch.randperm(len(z))].detach()
        mixed = content * (variance + 1e-5).sqrt() + mean
        return self.linear(mixed, "algorithm.style_head")


test_every_step = every_step(
    SagNet,
    {
        "DomainBed's weight": Case(),
        "a large weight": Case({"weight": 3.0}),
        "live normalisation": Case({"weight": 1.0}, norm="live"),
    },
)
