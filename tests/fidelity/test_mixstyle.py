"""MixStyle: statistics of maps mixed between images, once for each of the early stages."""

import pytest
import torch
from fidelity import Case, Reference, compare, cross_entropy, every_step

from medldr.algorithms import mixstyle


class MixStyle(Reference):
    """Zhou et al. 2021: ``s' (x - m) / s + m'``, detached, ``l ~ Beta(0.1, 0.1)`` per image."""

    name = "mixstyle"

    def update(self, batch):
        alpha = torch.tensor(self.keys.get("alpha", 0.1), dtype=torch.float64)
        chance = torch.rand(3).tolist()
        stages = [f"stage{number + 1}" for number in range(3) if chance[number] < 0.5]

        def mixed(x):
            share = torch.distributions.Beta(alpha, alpha).sample((len(x),)).float().double()
            partner = self.partner(len(x))
            share = share.view(-1, 1, 1, 1)
            mean = x.mean((2, 3), keepdim=True).detach()
            deviation = (x.var((2, 3), keepdim=True) + 1e-6).sqrt().detach()
            new_mean = share * mean + (1 - share) * mean[partner]
            new_deviation = share * deviation + (1 - share) * deviation[partner]
            return (x - mean) / deviation * new_deviation + new_mean

        logits = self.classify(self.features(batch.image, dict.fromkeys(stages, mixed)))
        return self.minimise(cross_entropy(logits, batch.label))

    def partner(self, rows):
        return torch.randperm(rows)


test_every_step = every_step(
    MixStyle,
    {
        "partners from anywhere": Case(),
        "another alpha": Case({"alpha": 2.0}),
        "live normalisation": Case(norm="live"),
    },
)


@pytest.mark.parametrize("domains", [2, 3])
def test_every_step_with_partners_of_another_domain(domains, optimizer, monkeypatch):
    drawn, draw = [], mixstyle.other_domain_partners

    def watched(domain):
        partner = draw(domain)
        drawn.append((partner, torch.get_rng_state()))
        assert sorted(partner.tolist()) == list(range(len(domain)))  # each is used once
        assert not (domain[partner] == domain).any()
        return partner

    monkeypatch.setattr(mixstyle, "other_domain_partners", watched)

    class CrossDomain(MixStyle):
        """Takes the partners that medldr drew, and the generator as that draw left it."""

        def partner(self, rows):
            partner, state = drawn.pop(0)
            torch.set_rng_state(state)
            return partner

    compare(CrossDomain, Case({"partners": "cross_domain"}, domains=domains), optimizer)
