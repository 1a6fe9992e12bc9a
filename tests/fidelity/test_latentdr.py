"""LatentDR: three cross-entropies, of latents as they are, degraded and restored.

The mean label is held in float32: batches have 16 rows, because sixteenths are exact there. The
logarithms of the class counts are held in it as well, and the reference rounds them too.
"""

import math
from typing import ClassVar

import numpy as np
import torch
from fidelity import COUNTS, Case, Reference, cross_entropy, dropped, every_step

AUGMENT = "algorithm.augment."
BALANCED = {"name": "balanced_softmax"}


class LatentDR(Reference):
    """The paper's pseudocode, its appendix's two orders of the norms, and its ablations."""

    name = "latentdr"
    rate = 0.5  # "a fixed learning rate adjustment of 50%"
    # A softmax does not see what all keys have in common.
    unseen: ClassVar = {"key.bias": slice(None)}

    def update(self, batch):
        degrade = self.keys.get("degrade", "attention")
        terms = self.keys.get("terms", ["degraded", "restored"])
        label = torch.eye(self.classes, dtype=torch.float64)[batch.label]
        z = self.features(batch.image)
        z_d = z if degrade == "none" else getattr(self, degrade)(z, "degradation", z)
        shared = self.keys.get("share_classifier", True)
        head = "model.head" if shared else f"{AUGMENT}own_classifier"
        prior = torch.zeros(self.classes, dtype=torch.float64)
        if self.keys.get("loss") == BALANCED:
            prior = torch.from_numpy(np.log(COUNTS).astype(np.float32)).double()
        losses = {"original": cross_entropy(self.classify(z) + prior, label)}
        if "degraded" in terms:
            mean = label.sum(0) / len(label)
            losses["degraded"] = cross_entropy(
                self.linear(z_d, head) + prior, mean.expand_as(label)
            )
        if "restored" in terms:
            z_r = self.attention(z_d, "restoration", z)
            losses["restored"] = cross_entropy(self.linear(z_r, head) + prior, label)
        logs = {f"loss/{name}": loss.detach() for name, loss in losses.items()}
        return self.minimise(sum(losses.values())) | logs

    def gaussian(self, z, layer, z_set):
        return z + torch.randn(z.shape, dtype=z.dtype)

    def pool(self, z, layer, z_set):
        """The mean of a random subset of the batch for every query, never an empty one."""
        chance = self.without_itself(torch.rand(len(z), len(z_set)), 2.0)
        subset = chance < self.keys.get("keep", 0.5)
        for row, own in enumerate(subset):
            if not own.any():
                subset[row, chance[row].argmin()] = True

        def mix(_, members):
            return torch.stack([members[own].mean(0) for own in subset])

        return self.layer(z, f"{AUGMENT}{layer}.", z_set, mix)

    def attention(self, z, layer, z_set):
        """``softmax(Q K' / sqrt(d_head)) V``, and back to the latents' size."""
        name = f"{AUGMENT}{layer}."

        def mix(queries, members):
            q = self.linear(queries, f"{name}query")
            k, v = (self.linear(members, f"{name}{part}") for part in ("key", "value"))
            scores = self.without_itself(q @ k.T / math.sqrt(q.shape[1]), -math.inf)
            weights = scores.softmax(1)
            return self.linear(dropped(weights, self.dropout) @ v, f"{name}out")

        return self.layer(z, name, z_set, mix)

    def layer(self, z, name, z_set, mix):
        norm = self.keys.get("norm", "post")

        def ff(x):
            hidden = dropped(self.linear(x, f"{name}ff_in").clamp_min(0), self.dropout)
            return dropped(self.linear(hidden, f"{name}ff_out"), self.dropout)

        def first(x):
            return self.normed(x, f"{name}norm_mix")

        def second(x):
            return self.normed(x, f"{name}norm_ff")

        if norm == "post":
            a = first(z + dropped(mix(z, z_set), self.dropout))
            return second(a + ff(a))
        if norm == "residual":
            a = first(z) + dropped(mix(z, z_set), self.dropout)
            return second(a) + ff(a)
        a = z + dropped(mix(first(z), first(z_set)), self.dropout)
        return a + ff(second(a))

    def without_itself(self, pairs, value):
        """A query's own entry replaced, where "the remaining samples" are its set."""
        if self.keys.get("include_query", True):
            return pairs
        return torch.where(torch.eye(len(pairs)).bool(), value, pairs)

    @property
    def dropout(self):
        return self.keys.get("dropout", 0.5)


def case(**keys):
    return Case(keys, rows=16)


test_every_step = every_step(
    LatentDR,
    {
        "attention": case(),
        "attention, residual": case(norm="residual"),
        "attention, pre": case(norm="pre", dropout=0.0),
        "pool": case(degrade="pool"),
        "pool, residual, without dropout": case(degrade="pool", norm="residual", dropout=0.0),
        "pool, few are kept": case(degrade="pool", keep=0.05),
        "attention to the remaining samples": case(include_query=False),
        "pool of the remaining samples": case(degrade="pool", keep=0.05, include_query=False),
        "pool alone": case(degrade="pool", terms=["degraded"]),
        "gaussian": case(degrade="gaussian"),
        "gaussian, residual": case(degrade="gaussian", norm="residual"),
        "gaussian, restored alone": case(degrade="gaussian", terms=["restored"]),
        "restored alone": case(degrade="none", terms=["restored"]),
        "a classifier of its own": case(share_classifier=False),
        "on balanced softmax": case(norm="residual", loss=BALANCED),
        "the full rate": case(lr_scale=1.0),
        "live normalisation": Case({"degrade": "pool"}, norm="live", rows=16),
    },
)
