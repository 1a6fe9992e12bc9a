"""MIRO: maps near those of the first network, under a trained variance of every channel."""

import math

from fidelity import STAGES, Case, Reference, cross_entropy, every_step


class MIRO(Reference):
    """Cha et al. 2022: half of ``(f - f0)^2 / v + ln v``, its mean, summed over the places."""

    name = "miro"

    def setup(self):
        self.places = STAGES if self.keys.get("points") != "block" else STAGES[1:]
        for place in self.places:
            b = self.w[f"algorithm.variances.{place}"]
            assert abs(b[0].item() - math.log(math.exp(0.1 - 1e-5) - 1)) < 1e-12

    def groups(self):
        rate = self.training["lr"] * self.keys.get("encoder_lr_scale", 10.0)
        variances = self.own("algorithm.variances.")
        return {"main": [(self.own("model."), {}), (variances, {"lr": rate})]}

    def update(self, batch):
        first = {name: value for name, value in self.first.items() if name.startswith("model.")}
        z, now = self.watched(batch.image, self.w)
        _, kept = self.watched(batch.image, first)
        penalty = 0.0
        for place in self.places:
            variance = (1 + self.w[f"algorithm.variances.{place}"].exp()).log() + 1e-5
            variance = variance.view(1, -1, 1, 1)
            away = (now[place] - kept[place].detach()) ** 2
            penalty = penalty + 0.5 * (away / variance + variance.log()).mean()
        original = cross_entropy(self.classify(z), batch.label)
        logs = {"loss/original": original.detach(), "loss/miro": penalty.detach()}
        return self.minimise(original + self.keys.get("weight", 0.1) * penalty) | logs

    def watched(self, image, w):
        seen = {}

        def see(place):
            return lambda x: seen.setdefault(place, x)

        return self.features(image, {place: see(place) for place in STAGES}, w), seen


test_every_step = every_step(
    MIRO,
    {
        "of the code": Case(),
        "the stages alone": Case({"points": "block", "weight": 1.0, "encoder_lr_scale": 2.0}),
        "frozen normalisation": Case({"weight": 1.0}, norm="frozen"),
    },
)
