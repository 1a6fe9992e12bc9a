"""MLDG: trial steps on one domain, evaluated on another; first and second order."""

import torch
from fidelity import Case, Optimizer, Reference, cross_entropy, every_step


class MLDG(Reference):
    """Li et al. 2018 (second order) and DomainBed (first): ``sum (R_i + beta R_j(w')) / n``.

    Pairs are drawn; they are read from the passes that medldr made.
    """

    name = "mldg"

    def update(self, batch):
        pairs = self.pairs()
        beta = self.keys.get("beta", 1.0)
        by_domains = self.keys.get("divide") == "domains"
        divisor = 3 if by_domains else len(pairs)
        one = self.second if self.keys.get("order") == "second" else self.first_order
        start, moves, total, losses = dict(self.statistics), [], {}, []
        for i, j in pairs:
            self.statistics = dict(start)
            risk = self.risk(batch, i, self.w)
            # Running statistics follow the first passes, which are made at the weights kept.
            moves.append({name: now - start[name] for name, now in self.statistics.items()})
            for name, gradient in one(batch, j, risk, beta).items():
                total[name] = total.get(name, 0) + gradient / divisor
            losses.append(risk.detach())
        self.apply(total)
        self.statistics = {
            name: before + sum(move[name] for move in moves) / len(pairs)
            for name, before in start.items()
        }
        return {"loss": sum(losses) / len(losses)}

    def first_order(self, batch, j, risk, beta):
        """The gradient after the step of a new optimizer, as if it were one at the weights."""
        mine = self.gradients(risk, self.w)
        moved = {name: w.detach().clone() for name, w in self.w.items()}
        kind = self.keys.get("inner", "adam")
        options = {"optimizer": kind, "momentum": 0.0, "nesterov": False, "betas": (0.9, 0.999)}
        rate, factor = self.inner_rate()
        Optimizer(self.training, **options, lr=rate).step(moved, mine, factor)
        moved = {name: w.requires_grad_() for name, w in moved.items()}
        after = torch.autograd.grad(self.risk(batch, j, moved), list(moved.values()))
        return {n: mine[n] + beta * g for n, g in zip(moved, after, strict=True)}

    def second(self, batch, j, risk, beta):
        """The gradient of both risks as a function of the weights."""
        rate, factor = self.inner_rate()
        found = torch.autograd.grad(risk, list(self.w.values()), create_graph=True)
        moved = {
            name: w - factor * rate * (gradient + self.training["weight_decay"] * w)
            for (name, w), gradient in zip(self.w.items(), found, strict=True)
        }
        return self.gradients(risk + beta * self.risk(batch, j, moved), self.w)

    def inner_rate(self):
        """The rate of a trial step: its own, or that of the optimizer at this step."""
        own = self.keys.get("inner_lr")
        return (self.training["lr"], self.factor) if own is None else (own, 1.0)

    def risk(self, batch, domain, w):
        rows = batch.domain == domain
        return cross_entropy(
            self.classify(self.features(batch.image[rows], w=w), w), batch.label[rows]
        )

    def pairs(self):
        """Which domain takes a trial step, and which evaluates it."""
        if self.keys.get("order") == "second":
            pairs = [(one[0], next(d for d in one if d != one[0])) for one in self.passes]
        else:
            domains = [one for (one,) in map(set, self.passes)]
            pairs = list(zip(domains[0::2], domains[1::2], strict=True))
        train, test = zip(*pairs, strict=True)
        if self.keys.get("pairs") == "split":
            tested = self.keys["n_meta_test"]
            assert len(pairs) == 3 - tested == len(set(train))
            assert not set(train) & set(test)
        else:
            assert sorted(train) == sorted(test) == [0, 1, 2]
            assert test == train[1:] + train[:1]
        return pairs


SECOND = {"order": "second", "inner": "sgd"}

test_every_step = every_step(
    MLDG,
    {
        "ring, DomainBed's": Case(),
        "ring, SGD, beta and rate": Case({"inner": "sgd", "beta": 1.5, "inner_lr": 0.3}),
        "split, DomainBed's since 2022": Case(
            {"pairs": "split", "n_meta_test": 2, "divide": "domains"}
        ),
        "split, one is tested": Case({"pairs": "split", "n_meta_test": 1}),
        "live normalisation": Case(norm="live"),
        "second order": Case(SECOND),
        "second order, a long trial step": Case({**SECOND, "inner_lr": 1.0, "beta": 0.5}),
        "second order, live normalisation": Case({**SECOND, "inner_lr": 1.0}, norm="live"),
    },
)
