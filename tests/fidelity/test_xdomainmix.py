"""XDomainMix: four parts of every latent, two of which are mixed with those of other images."""

import math

import numpy as np
import torch
from fidelity import STEPS, Case, Reference, cross_entropy, every_step


class XDomainMix(Reference):
    """Liu et al. 2024: ``F = F_cd + F_c + F_d + F_0``, F_cd and F_d mixed, row by row."""

    name = "xdomainmix"

    def update(self, batch):
        z = self.features(batch.image)
        original = cross_entropy(self.classify(z), batch.label)
        domain = cross_entropy(self.linear(z.detach(), "algorithm.domain_head"), batch.domain)
        draws, shares = torch.rand(2, len(z), len(z)), torch.rand(len(z), 2).double()
        kept = float(torch.rand(()) >= self.keys.get("discard", 0.2))
        loss, begun = original, math.ceil(self.keys["warmup"] * STEPS)
        if self.index >= begun:
            turns = self.keys.get("domain_quantiles", [0.9])
            quantile = turns[(self.index - begun) // self.keys.get("turn", 100) % len(turns)]
            parts = [self.parts(z[i], batch.label[i], batch.domain[i], quantile) for i in range(12)]
            rows = []
            for i, (both, of_class, of_domain, rest) in enumerate(parts):
                same, other = self.partners(i, batch, draws)
                (u, v), theirs, others = shares[i], parts[same][0], parts[other][2]
                both, of_domain = u * both + (1 - u) * theirs, v * of_domain + (1 - v) * others
                rows.append(kept * both + of_class + of_domain + rest)
            mixed = cross_entropy(self.classify(torch.stack(rows)), batch.label)
            share = self.keys.get("strength", 0.5)
            loss = (1 - share) * original + share * mixed
        return self.minimise(loss + domain) | {"loss/domain": domain.detach()}

    def parts(self, z, label, domain, quantile):
        """Specific to class and domain, to the class, to the domain, to neither."""
        heads = ("model.head", label, 0.5), ("algorithm.domain_head", domain, quantile)
        specific = []
        for head, row, q in heads:
            importance = (z * self.w[f"{head}.weight"][row]).detach().numpy()
            specific.append(torch.from_numpy(importance > np.quantile(importance, q)).double())
        c, d = specific
        return z * c * d, z * c * (1 - d), z * (1 - c) * d, z * (1 - c) * (1 - d)

    def partners(self, i, batch, draws):
        """Of the same class and another domain; of another class and another domain."""
        found = []
        others = [j for j in range(len(batch.label)) if batch.domain[j] != batch.domain[i]]
        kin = [j for j in range(len(batch.label)) if batch.label[j] == batch.label[i] and j != i]
        same = [j for j in others if j in kin] or kin or [i]
        unlike = [j for j in others if batch.label[j] != batch.label[i]] or others
        for number, allowed in enumerate((same, unlike)):
            found.append(max(allowed, key=lambda j, n=number: draws[n, i, j]))
        return found


test_every_step = every_step(
    XDomainMix,
    {
        "after the warm-up": Case({"warmup": 0.5}),
        "quantiles in turn": Case({"warmup": 0.0, "domain_quantiles": [0.8, 0.3], "turn": 2}),
        "mostly left out": Case({"warmup": 0.2, "discard": 0.7, "strength": 1.0}),
        "live normalisation": Case({"warmup": 0.0}, norm="live"),
    },
)
