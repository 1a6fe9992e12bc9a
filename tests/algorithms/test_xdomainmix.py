"""XDomainMix beside its update, which `tests/fidelity` derives."""

from collections import Counter

import pytest
import torch

from medldr.algorithms.xdomainmix import choose, mix_parts, specific
from medldr.errors import InputError


@pytest.fixture
def build(standins):
    def make(**keys):
        spec = standins.make_spec()
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("xdomainmix", spec, model, **{"warmup": 0, **keys})
        return model, algorithm.train(), standins.make_batch(spec)

    return make


def test_the_upper_part_of_a_row_is_specific_whatever_its_sign_and_scale():
    z = torch.randn(20, 100, generator=torch.Generator().manual_seed(0))
    weight = torch.randn(20, 100, generator=torch.Generator().manual_seed(1))
    found = specific(z, weight, 0.9)
    assert found.sum(1).tolist() == [10] * 20
    assert torch.equal(found, specific(-7 * z, -weight, torch.tensor(0.9)))
    lowest = (z * weight).masked_fill(~found, torch.inf).amin(1)
    assert (lowest > (z * weight).masked_fill(found, -torch.inf).amax(1)).all()


def test_partners_are_drawn_alike_among_the_first_that_are_allowed():
    first = torch.tensor([[0, 1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]).bool()
    second = torch.tensor([[1, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]).bool()
    torch.manual_seed(0)
    draws = [choose(torch.rand(4, 4), first, second, torch.eye(4).bool()) for _ in range(600)]
    met = [Counter(int(draw[row]) for draw in draws) for row in range(4)]
    assert [set(row) for row in met] == [{1, 2}, {0}, {2}, {3}]
    assert met[0][1] == pytest.approx(300, abs=50)  # standard error 12


def test_with_whole_shares_or_nothing_specific_latents_stay():
    z = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))
    masks = torch.rand(2, 6, 8, generator=torch.Generator().manual_seed(1)) > 0.5
    swap, kept = torch.arange(5, -1, -1), torch.tensor(True)
    whole = mix_parts(z, *masks, (swap, swap), torch.ones(6, 2), kept)
    assert torch.equal(whole, z)
    none = torch.zeros(6, 8, dtype=torch.bool)
    assert torch.equal(mix_parts(z, masks[0], none, (swap, swap), torch.rand(6, 2), kept), z)


@pytest.mark.parametrize("keys", [{"strength": 0}, {}])
def test_it_is_erm_without_strength_and_in_evaluation(keys, build, standins):
    model, algorithm, batch = build(**keys)
    algorithm.train(bool(keys))
    erm = standins.make_algorithm("erm", standins.make_spec(), model)
    state, found = torch.get_rng_state(), []
    for one in (algorithm, erm):
        out = one.loss(model, batch)
        found.append((out.loss, *torch.autograd.grad(out.loss, list(model.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_domain_head_learns_from_the_start_and_leaves_the_network_alone(build, standins):
    model, algorithm, batch = build(warmup=1)
    out = algorithm.loss(model, batch)
    out.loss.backward()
    assert algorithm.domain_head.weight.grad.abs().sum() > 0
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    erm = standins.make_algorithm("erm", standins.make_spec(), model)
    erm.loss(model, batch).loss.backward()
    for one, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad)


def test_a_head_that_is_not_linear_is_refused(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    model.head = torch.nn.Sequential(model.head)
    with pytest.raises(InputError, match=r"xdomainmix .*linear head.*Sequential"):
        standins.make_algorithm("xdomainmix", spec, model)
