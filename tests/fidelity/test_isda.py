"""ISDA: cross-entropy of logits raised by half the variance of their margins."""

import torch
from fidelity import STEPS, Case, Reference, cross_entropy, every_step


class ISDA(Reference):
    """Wang et al. 2019: ``z_k + l / 2 (w_k - w_y)' S_y (w_k - w_y)``, row by row.

    ``S_y`` is the population covariance of all latents of class y that were seen, kept here as the
    latents themselves.
    """

    name = "isda"

    def setup(self):
        self.seen = [torch.zeros(0, 8, dtype=torch.float64) for _ in range(self.classes)]

    def update(self, batch):
        z = self.features(batch.image)
        logits, w = self.classify(z), self.w["model.head.weight"]
        for row, y in zip(z.detach(), batch.label.tolist(), strict=True):
            self.seen[y] = torch.cat([self.seen[y], row[None]])
        strength = self.keys.get("strength", 0.5) * self.index / STEPS
        raised = []
        for row, y in zip(logits, batch.label.tolist(), strict=True):
            s = torch.cov(self.seen[y].T, correction=0)
            if self.keys.get("covariance") == "diagonal":
                s = s.diag().diag()
            margins = [(w[k] - w[y]) @ s @ (w[k] - w[y]) for k in range(self.classes)]
            raised.append(row + strength / 2 * torch.stack(margins))
        return self.minimise(cross_entropy(torch.stack(raised), batch.label))

    def tracked(self):
        means = [seen.mean(0) if len(seen) else torch.zeros(8) for seen in self.seen]
        return super().tracked() | {"algorithm.mean": torch.stack(means)}


test_every_step = every_step(
    ISDA,
    {
        "full covariances": Case({"strength": 500.0}),
        "variances alone, as on ImageNet": Case({"covariance": "diagonal", "strength": 500.0}),
        "live normalisation": Case({"strength": 50.0}, norm="live"),
    },
)
