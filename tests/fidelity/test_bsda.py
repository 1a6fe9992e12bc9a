"""BSDA: latents plus masked noise of a learned variance, copy by copy."""

import math

import torch
from fidelity import STEPS, Case, Reference, cross_entropy, dropped, every_step


class BSDA(Reference):
    """Zhu et al. 2024: ``L + a (L(z + d m) + |D(m) - z|^2 / 2 + 8e-4 KL)``, m ~ N(0, v(z))."""

    name = "bsda"

    def update(self, batch):
        copies = self.keys.get("copies", 10)
        z = self.features(batch.image)
        v = self.linear(self.layers(z, "reader"), "algorithm.log_variance")
        noise = torch.randn(copies * len(z), 8, dtype=torch.float64).split(len(z))
        moves = [each * (v / 2).exp() for each in noise]
        back = self.layers(torch.cat(moves), "decoder").split(len(z))
        rebuilt = sum(((one - z) ** 2).mean() for one in back) / copies / 2
        masked = dropped(torch.cat(moves), self.keys.get("dropout", 0.8)).split(len(z))
        moved = [cross_entropy(self.classify(z + one), batch.label) for one in masked]
        kl = -0.5 * (1 + v - v.exp()).sum()
        added = sum(moved) / copies + rebuilt + 8e-4 * 128 / len(z) * kl
        alpha = self.keys.get("strength", 0.5) * min(1, self.index / (STEPS // 2))
        loss = cross_entropy(self.classify(z), batch.label) + alpha * added
        return self.minimise(loss) | {"loss/rebuilt": rebuilt.detach()}

    def layers(self, x, part):
        for layer in (0, 3):
            x = x @ self.w[f"algorithm.{part}.{layer}.weight"].T
            x = (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()
            norm = f"algorithm.{part}.{layer + 1}"
            x = x * self.w[f"{norm}.weight"] + self.w[f"{norm}.bias"]
            x = x * (1 + torch.erf(x / math.sqrt(2))) / 2
        return x


test_every_step = every_step(
    BSDA,
    {
        "of the authors": Case(rtol=1e-9),
        "two copies": Case({"copies": 2, "dropout": 0.5, "strength": 2.0}),
        "live normalisation": Case(norm="live"),
    },
)
