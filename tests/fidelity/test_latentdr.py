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

    def groups(self):
        """The rate and decay of D and R, where they are not those of all."""
        operators = {
            name
            for part in ("degradation", "restoration")
            for name in self.own(f"{AUGMENT}{part}.")
        }
        own = {"lr": self.training["lr"] * self.keys.get("operator_lr_scale", 1.0)}
        if "operator_weight_decay" in self.keys:
            own["weight_decay"] = self.keys["operator_weight_decay"]
        others = [name for name in self.w if name not in operators]
        return {"main": [(others, {}), (sorted(operators), own)]}

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
            entropy = -(mean[mean > 0] * mean[mean > 0].log()).sum()
        if "restored" in terms:
            z_r = self.attention(z_d, "restoration", z)
            losses["restored"] = cross_entropy(self.linear(z_r, head) + prior, label)
        logs = {f"loss/{name}": loss.detach() for name, loss in losses.items()}
        if "degraded" in terms:
            logs["loss/degraded_excess"] = logs["loss/degraded"] - entropy
        return self.minimise(sum(losses.values())) | logs

    def gaussian(self, z, layer, z_set):
        return z + torch.randn(z.shape, dtype=z.dtype)

    def pool(self, z, layer, z_set):
        """The mean of a random subset of the batch for every query, never an empty one."""
        draws = 1 if self.keys.get("subset_per") == "batch" else len(z)
        chance = self.without_itself(torch.rand(draws, len(z_set)).repeat(len(z) // draws, 1), 2.0)
        keep = self.keys.get("keep", 0.5)
        subset = chance < keep
        if self.keys.get("subset_size") == "fixed":
            allowed = len(z_set) - (not self.keys.get("include_query", True))
            rank = chance.argsort(1).argsort(1)
            subset = rank < round(keep * allowed)
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
            divisor = math.sqrt(q.shape[1]) if self.keys.get("scale_scores", True) else 1
            scores = self.without_itself(q @ k.T / divisor, -math.inf)
            weights = scores.softmax(1)
            return self.linear(self.dropped(weights, "attention") @ v, f"{name}out")

        return self.layer(z, name, z_set, mix)

    def layer(self, z, name, z_set, mix):
        norm = self.keys.get("norm", "post")

        def active(x):
            if self.keys.get("activation") == "gelu":
                return x * (1 + torch.erf(x / math.sqrt(2))) / 2
            return x.clamp_min(0)

        def ff(x):
            hidden = self.dropped(active(self.linear(x, f"{name}ff_in")), "hidden")
            return self.dropped(self.linear(hidden, f"{name}ff_out"), "output")

        def first(x):
            return self.normed(x, f"{name}norm_mix")

        def second(x):
            return self.normed(x, f"{name}norm_ff")

        if norm == "post":
            a = first(z + self.dropped(mix(z, z_set), "mixing"))
            return second(a + ff(a))
        if norm == "residual":
            a = first(z) + self.dropped(mix(z, z_set), "mixing")
            return second(a) + ff(a)
        a = z + self.dropped(mix(first(z), first(z_set)), "mixing")
        return a + ff(second(a))

    def without_itself(self, pairs, value):
        """A query's own entry replaced, where "the remaining samples" are its set."""
        if self.keys.get("include_query", True):
            return pairs
        return torch.where(torch.eye(len(pairs)).bool(), value, pairs)

    def dropped(self, x, place):
        acts = place in self.keys.get("dropout_at", [place])
        return dropped(x, self.keys.get("dropout", 0.5)) if acts else x


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
        "one subset for the batch": case(degrade="pool", keep=0.2, subset_per="batch"),
        "a subset of fixed size": case(degrade="pool", keep=0.3, subset_size="fixed"),
        "one of fixed size, of the remaining samples": case(
            degrade="pool", subset_per="batch", subset_size="fixed", include_query=False
        ),
        "scores as they are, and GELU": case(scale_scores=False, activation="gelu"),
        "dropout of attention weights alone": case(dropout_at=["attention"]),
        "dropout of the feed-forward part alone": case(
            degrade="pool", dropout_at=["output", "hidden"], norm="residual"
        ),
        "D and R with a rate and a decay of their own": case(
            operator_lr_scale=0.2, operator_weight_decay=0.1
        ),
        "a decay of their own, and a classifier": case(
            operator_weight_decay=0.0, share_classifier=False
        ),
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
