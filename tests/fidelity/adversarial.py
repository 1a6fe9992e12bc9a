"""What the references of DANN and CDANN have in common: DomainBed's two players."""

import math

import torch
from fidelity import STEPS, Reference, cross_entropy, dropped

DISCRIMINATOR = "algorithm.discriminator."


class Adversarial(Reference):
    """A step on ``loss - weight L_d``, then ``d_steps`` on ``L_d`` alone.

    The slope of the discriminator's loss is differentiated twice here.
    """

    def groups(self):
        options = {"betas": (0.5, 0.9)}
        own = options | {"lr": self.keys.get("lr_d", self.training["lr"])}
        own["weight_decay"] = self.keys.get("weight_decay_d", self.training["weight_decay"])
        return {"f": [(self.own("model."), options)], "h": [(self.own("algorithm."), own)]}

    def update(self, batch):
        strength = 1.0
        if self.keys.get("schedule") == "ganin":
            strength = 2 / (1 + math.exp(-10 * self.index / STEPS)) - 1
        z = self.features(batch.image)
        original = cross_entropy(self.classify(z), batch.label)
        domain, penalty = self.domain_loss(z, batch)
        logs = {"loss/original": original.detach(), "loss/domain": domain.detach()}
        domain = domain + self.keys.get("grad_penalty", 0.0) * penalty
        turns, count = self.keys.get("d_steps", 1), self.index + 1
        if count % (1 + turns) < turns:
            return self.minimise(domain, "h") | logs
        loss = original - self.keys.get("weight", 1.0) * strength * domain
        return self.minimise(loss, "f") | logs

    def domain_loss(self, z, batch):
        """The cross-entropy of the domain, and its mean squared slope along what is seen."""
        raise NotImplementedError

    def domain_losses(self, seen, batch):
        x = seen
        for number in range(self.keys.get("depth", 3) - 1):
            layer = self.linear(x, f"{DISCRIMINATOR}hidden.{number}")
            x = dropped(layer, self.keys.get("dropout", 0.0)).clamp_min(0)
        logits = self.linear(x, f"{DISCRIMINATOR}last")
        return logits.logsumexp(1) - logits.gather(1, batch.domain[:, None])[:, 0]

    def steepness(self, each, seen):
        (slopes,) = torch.autograd.grad(each.sum(), seen, create_graph=True)
        return (slopes**2).sum(1).mean()
