"""BALMS: rates of classes by a trial step of the classifier, which then learns from a new draw.

Balanced softmax holds the logarithms of its class counts in float32, so they are rounded here.
"""

import numpy as np
import torch
from fidelity import COUNTS, Case, Reference, cross_entropy, every_step

LOG_COUNTS = np.log(np.array(COUNTS)).astype(np.float32)
RATES = "algorithm.rate_logits"


class BALMS(Reference):
    """Ren et al. 2020: Adam on ``CE(head - lr grad L(draw))`` for the rates, then a step on ``L``.

    Where medldr's card says that it differs from the authors' code, this has medldr's form.
    """

    name = "balms"

    def groups(self):
        meta = {"optimizer": "adam", "lr": self.keys.get("meta_lr", 0.01), "weight_decay": 0.0}
        meta |= {"betas": (0.9, 0.999), "eps": 1e-8}
        return {"main": [(self.own("model."), {})], "meta": [([RATES], meta)]}

    def update(self, batch):
        label, half = batch.label, (len(batch.label) + 1) // 2
        z = self.features(batch.image).detach()
        head = {n: self.w[n].detach().requires_grad_() for n in self.own("model.head.")}
        trial = (self.draw(label[:half]) * self.each(z[:half], label[:half], head)).sum()
        slopes = torch.autograd.grad(trial, list(head.values()), create_graph=True)
        rate = self.training["lr"] * self.factor * self.keys.get("inner_lr_scale", 1.0)
        moved = {n: head[n] - rate * g for n, g in zip(head, slopes, strict=True)}
        score = cross_entropy(self.classify(z[half:], moved), label[half:])
        rates = 1 / (1 + (-self.w[RATES].detach()).exp())
        logs = {
            "loss/meta": score.detach(),
            "rate/lowest": rates.min(),
            "rate/highest": rates.max(),
        }
        gradients, scheduled = self.gradients(score, [RATES]), self.factor
        self.factor = 1.0  # Adam's rate for the rates is constant
        self.apply(gradients, "meta")
        self.factor = scheduled
        drawn = self.draw(label[:half]).detach()
        losses = self.each(self.features(batch.image[:half]), label[:half], self.w)
        found = self.minimise((drawn * losses).sum())
        return found | logs | {"loss/meta": score.detach(), "loss/original": found["loss"]}

    def each(self, z, label, w):
        """Balanced softmax of each row."""
        logits = self.classify(z, w) + torch.from_numpy(LOG_COUNTS).double()
        return logits.logsumexp(1) - logits.gather(1, label[:, None])[:, 0]

    def draw(self, label):
        """Share of the draws that fell on each row, one draw after the other."""
        rates = 1 / (1 + (-self.w[RATES]).exp())
        weight = (rates * torch.tensor(COUNTS).double())[label]
        noise = torch.empty(len(label), len(label)).double().exponential_()
        shares = 0
        for own in noise:
            raised = (weight / own) ** (1 / self.keys.get("temperature", 1.0))
            soft = raised / raised.sum()
            hard = torch.zeros_like(soft)
            hard[soft.argmax()] = 1
            shares = shares + (hard - soft).detach() + soft
        return shares / len(label)


test_every_step = every_step(
    BALMS,
    {
        "the authors' settings": Case(),
        "a longer trial step, faster rates": Case({"inner_lr_scale": 20.0, "meta_lr": 0.3}),
        "cooler draws, an odd number of rows": Case({"temperature": 0.5}, rows=15),
        "live normalisation": Case(norm="live"),
        "clipped": Case(training={"clip_norm": 0.1}),
    },
)
