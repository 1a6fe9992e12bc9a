"""Fish: steps domain by domain at a copy, then a part of the way; in both published forms."""

from fidelity import STEPS, Case, Reference, cross_entropy, every_step


class Fish(Reference):
    """Shi et al. 2021: ``w <- w + eps (w_inner - w)``, running statistics among them.

    The order of the domains is drawn; it is read from the passes that medldr made.
    """

    name = "fish"

    def setup(self):
        self.orders = set()

    def update(self, batch):
        steps = len(set(batch.domain.tolist()))
        eps = self.keys.get("meta_lr", 0.01) / (steps if self.keys.get("divide", True) else 1)
        order = [one for (one,) in map(set, self.passes)]  # one domain in every pass
        assert sorted(order) == list(range(steps))
        self.orders.add(tuple(order))
        if self.keys.get("order") == "fixed":
            assert order == sorted(order)
        elif self.index == STEPS - 1:
            assert len(self.orders) > 1
        start = {name: value.detach().clone() for name, value in self.w.items()}
        statistics = dict(self.statistics)
        if not self.keys.get("keep_optimizer", True):
            self.reset()
        losses = []
        for domain in order:
            rows = batch.domain == domain
            logits = self.classify(self.features(batch.image[rows]))
            losses.append(self.minimise(cross_entropy(logits, batch.label[rows]))["loss"])
        for name, value in self.w.items():
            value.data = start[name] + eps * (value.data - start[name])
        for name, value in self.statistics.items():
            self.statistics[name] = statistics[name] + eps * (value - statistics[name])
        return {"loss": sum(losses) / steps}


DOMAINBED = {"meta_lr": 0.5, "divide": False, "order": "fixed"}

test_every_step = every_step(
    Fish,
    {
        "its own code": Case({"meta_lr": 0.01}),
        "its own code, a longer way": Case({"meta_lr": 1.5}),
        "DomainBed's": Case(DOMAINBED),
        "DomainBed's, live normalisation": Case(DOMAINBED, norm="live"),
        "two of the domains": Case({"meta_lr": 1.5, "meta_steps": 2}, domains=2),
        "momentum forgotten": Case({"meta_lr": 1.5, "keep_optimizer": False}),
    },
)
