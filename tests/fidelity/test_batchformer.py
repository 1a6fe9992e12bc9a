"""BatchFormer: a transformer layer over the batch; one classifier before and after it."""

import math
from typing import ClassVar

import torch
from fidelity import Case, Reference, cross_entropy, dropped, every_step


class BatchFormer(Reference):
    """Hou et al. 2022: the mean loss of the joint batch ``[z; encoder(z)]``, its labels twice."""

    name = "batchformer"
    # A softmax does not see what all keys have in common; the keys are the second of three parts.
    unseen: ClassVar = {"in_proj_bias": slice(8, 16)}

    def groups(self):
        layer, head = self.own("algorithm.encoder."), self.own("algorithm.own_classifier.")
        rate = self.training["lr"] * self.keys.get("encoder_lr_scale", 1.0)
        others = [n for n in self.w if n not in {*layer, *head}]
        return {"main": [(others, {}), (layer, {"lr": rate}), (head, {})]}

    def update(self, batch):
        z = self.features(batch.image)
        after = self.encode(z, "algorithm.encoder.")
        own = "algorithm.own_classifier"
        shared = self.keys.get("share_classifier", True)
        logits = torch.cat([self.classify(z), self.linear(after, "model.head" if shared else own)])
        return self.minimise(cross_entropy(logits, batch.label.repeat(2)))

    def encode(self, z, layer):
        """``a = LN(z + MSA(z))``, then ``LN(a + FF(a))``; the batch is the sequence."""
        rows, dim = z.shape
        heads, rate = self.keys.get("heads", 1), self.keys.get("dropout", 0.5)
        parts = z @ self.w[f"{layer}self_attn.in_proj_weight"].T
        parts = parts + self.w[f"{layer}self_attn.in_proj_bias"]
        q, k, v = (p.reshape(rows, heads, -1).transpose(0, 1) for p in parts.split(dim, 1))
        scores = torch.einsum("hqc,hkc->hqk", q, k) / math.sqrt(dim // heads)
        mixed = dropped(scores.softmax(2), rate) @ v
        mixed = self.linear(mixed.transpose(0, 1).reshape(rows, dim), f"{layer}self_attn.out_proj")
        a = self.normed(z + dropped(mixed, rate), f"{layer}norm1")
        hidden = dropped(self.linear(a, f"{layer}linear1").clamp_min(0), rate)
        return self.normed(
            a + dropped(self.linear(hidden, f"{layer}linear2"), rate), f"{layer}norm2"
        )


test_every_step = every_step(
    BatchFormer,
    {
        "of the paper, with dropout": Case(),
        "without dropout": Case({"dropout": 0.0}),
        "two heads, a slower layer": Case({"heads": 2, "encoder_lr_scale": 0.1}),
        "a classifier of its own": Case({"dropout": 0.0, "share_classifier": False}),
    },
)
