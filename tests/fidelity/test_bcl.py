"""BCL: one view is classified, two are contrasted with each other and with every class's centre.

The logarithms of the class frequencies are held in float32, so the reference rounds them too.
"""

from typing import ClassVar

import numpy as np
import torch
from fidelity import COUNTS, Case, Reference, cross_entropy, every_step

PRIORS = np.log(np.array(COUNTS) / sum(COUNTS)).astype(np.float32)


class BCL(Reference):
    """Zhu et al. 2022: ``alpha CE(logits + ln pi) + beta L``, L balanced over the classes."""

    name = "bcl"
    # Normalisation takes out what is added to all rows.
    unseen: ClassVar = {"hidden.bias": slice(None)}

    def setup(self):
        heads = [f"algorithm.{head}.norm." for head in ("embed", "prototype")]
        names = [f"{head}running_{part}" for head in heads for part in ("mean", "var")]
        self.running = {name: self.first[name].clone() for name in names}

    def update(self, batch):
        rows = len(batch.label)
        z = self.features(torch.cat([batch.image, *batch.views.values()]))
        adjusted = self.classify(z[:rows]) + torch.from_numpy(PRIORS).double()
        original = cross_entropy(adjusted, batch.label)
        seen = self.head(z, "algorithm.embed")[rows:]
        centres = self.head(self.w["model.head.weight"], "algorithm.prototype")
        contrast = self.contrast(seen, batch.label.tolist() * 2, centres)
        logs = {"loss/original": original.detach(), "loss/bcl": contrast.detach()}
        alpha, beta = self.keys.get("alpha", 2.0), self.keys.get("beta", 0.6)
        return self.minimise(alpha * original + beta * contrast) | logs

    def contrast(self, seen, label, centres):
        """One anchor and one class at a time."""
        keys, of = torch.cat([seen, centres]), [*label, *range(len(centres))]
        similar = keys @ keys.T / self.keys.get("temperature", 0.1)
        losses = []
        for i in range(len(seen)):
            members = [
                [k for k in range(len(keys)) if of[k] == j and k != i] for j in range(len(centres))
            ]
            below = sum(similar[i, own].exp().sum() / len(own) for own in members)
            losses.append(-(similar[i, members[of[i]]] - below.log()).mean())
        return sum(losses) / len(losses)

    def head(self, x, name):
        """Linear, batch normalisation, ReLU, linear, length one."""
        x = self.linear(x, f"{name}.hidden")
        mean, var = x.mean(0), x.var(0, unbiased=False)
        for part, now in (("mean", mean), ("var", x.var(0))):
            key = f"{name}.norm.running_{part}"
            self.running[key] = 0.9 * self.running[key] + 0.1 * now.detach()
        x = (x - mean) / (var + 1e-5).sqrt()
        x = x * self.w[f"{name}.norm.weight"] + self.w[f"{name}.norm.bias"]
        x = self.linear(x.clamp_min(0), f"{name}.out")
        return x / (x * x).sum(1, keepdim=True).sqrt()

    def tracked(self):
        return super().tracked() | self.running


SMALL = {"hidden": 6, "feat_dim": 5}

test_every_step = every_step(
    BCL,
    {
        "for CIFAR": Case(SMALL),
        "for ImageNet": Case(
            SMALL | {"alpha": 1.0, "beta": 0.35, "temperature": 0.07, "hidden": None}
        ),
        "few rows, classes are missing": Case(SMALL, rows=3),
        "live normalisation": Case(SMALL, norm="live"),
    },
)
