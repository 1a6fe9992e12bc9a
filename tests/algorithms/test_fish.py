"""Fish beside its update, which `tests/fidelity` derives: the order of domains, and refusals."""

import copy
import functools
from collections import Counter
from itertools import permutations

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from medldr.algorithms.fish import Fish
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep
from medldr.types import DataSpec


class Watched:
    """A step that changes nothing and writes down what it is asked for."""

    def __init__(self, model, algorithm, index=0):
        self.model, self.algorithm, self.index, self.calls = model, algorithm, index, []

    def forward(self, batch, method="loss"):
        assert method == "loss"
        self.calls.append(batch)
        return self.algorithm.loss(self.model, batch)

    def backward(self, loss):
        assert loss.requires_grad

    def snapshot(self):
        return {}

    def reset_optimizer(self):
        pass

    def optimizer_step(self):
        pass

    def interpolate(self, snapshot, eps):
        self.eps = eps


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, norm=False, seed=0, rows=12, **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec, norm=norm)
        algorithm = standins.make_algorithm("fish", spec, model, seed=seed, **keys).train()
        return model, algorithm, standins.make_batch(standins.make_spec(task), rows)

    return make


def stepper(model, algorithm, lr=0.1, momentum=0.0, **options):
    training = TrainingConfig(optimizer="sgd", lr=lr, momentum=momentum, **options)
    return Stepper(
        Fabric(accelerator="cpu", devices=1),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def sgd(model, algorithm, batches, lr=0.1):
    """Plain steps on a copy of the model, one after the other."""
    model = copy.deepcopy(model)
    for batch in batches:
        gradient = torch.autograd.grad(algorithm.loss(model, batch).loss, [*model.parameters()])
        with torch.no_grad():
            for p, g in zip(model.parameters(), gradient, strict=True):
                p -= lr * g
    return model


def far(model, expected, **tolerance):
    pairs = zip(model.named_parameters(), expected.parameters(), strict=True)
    return [name for (name, p), q in pairs if not torch.allclose(p, q, **tolerance)]


def test_one_domain_with_eps_1_is_one_step_of_erm_bit_for_bit(build, standins):
    one = DataSpec("multi-class", ("a", "b", "c", "d"), (1,) * 4, 1, (8, 8), ("x", "y"), ("y",))
    model, algorithm, batch = build(spec=one, meta_lr=1)
    batch = batch._replace(domain=torch.zeros(12, dtype=torch.int64))
    plain = copy.deepcopy(model)
    erm = standins.make_algorithm("erm", one, plain)
    expected = erm.update(stepper(plain, erm, momentum=0.9), batch)
    out = algorithm.update(stepper(model, algorithm, momentum=0.9), batch)
    assert not far(model, plain, rtol=0, atol=0)
    assert torch.equal(out.loss, expected.loss)


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_every_inner_loss_is_that_of_its_domain_with_the_class_weights(task, build):
    model, algorithm, batch = build(task)
    weights = torch.tensor([5.0, 1.0, 2.0, 0.5])
    algorithm.use_class_weights(weights)
    out = algorithm.update(Watched(model, algorithm), batch)
    means = []
    for d, name in enumerate(algorithm.spec.train_domains):
        own = batch.select(batch.domain == d)
        logits = model(own.image).detach().double()
        if task == "multi-class":
            losses = nn.functional.cross_entropy(logits, own.label, reduction="none")
            factors = weights[own.label].double()
        else:
            known = ~own.label.isnan()
            entries = nn.functional.binary_cross_entropy_with_logits(
                logits, own.label.nan_to_num().double(), reduction="none"
            )
            losses = (entries * known).sum(1) / known.sum(1).clamp_min(1)
            positive = own.label.nan_to_num()
            factors = torch.where(positive.sum(1) > 0, positive @ weights, 1.0).double()
        means.append(((losses * factors).sum() / factors.sum()).item())
        assert out.logs[f"loss/domain/{name}"].item() == pytest.approx(means[-1], rel=1e-5)
    assert out.loss.item() == pytest.approx(sum(means) / 3, rel=1e-5)
    assert out.logs["loss/original"].item() == out.loss.item()


def test_latents_and_logits_stand_in_the_order_of_the_batch(build):
    model, algorithm, batch = build()
    expected = algorithm.loss(model, batch)
    mixed_up = torch.randperm(12, generator=torch.Generator().manual_seed(3))
    for index in range(4):
        out = algorithm.update(Watched(model, algorithm, index), batch.select(mixed_up))
        torch.testing.assert_close(out.z, expected.z[mixed_up].detach())
        torch.testing.assert_close(out.logits, expected.logits[mixed_up].detach())
        assert not any(part.requires_grad for part in out[:3])


def orders(model, algorithm, batch, steps):
    found = []
    for index in steps:
        step = Watched(model, algorithm, index)
        algorithm.update(step, batch)
        assert all(len(part.domain.unique()) == 1 for part in step.calls)
        found.append(tuple(part.domain[0].item() for part in step.calls))
    return found


def test_every_update_visits_every_domain_once_in_every_order_equally_often(build):
    found = Counter(orders(*build(rows=3), range(300)))
    assert set(found) == set(permutations(range(3)))
    # Chi-squared with 5 degrees of freedom: above 20.5 once in a thousand seeds.
    assert sum((n - 50) ** 2 / 50 for n in found.values()) < 20.5


def test_the_order_follows_from_the_seed_and_the_step_alone(build):
    first = orders(*build(rows=3), range(20))
    torch.manual_seed(1234)
    state = torch.get_rng_state()
    assert orders(*build(rows=3), [7, 3, 19]) == [first[7], first[3], first[19]]
    assert torch.equal(torch.get_rng_state(), state)
    assert orders(*build(rows=3, seed=1), range(20)) != first


def test_the_order_goes_on_with_the_state_of_another_start(build):
    _, algorithm, _ = build(rows=3)
    model, other, batch = build(rows=3, seed=1)
    other.load_state_dict(algorithm.state_dict())
    assert orders(model, other, batch, range(20)) == orders(*build(rows=3), range(20))


def test_a_fixed_order_is_that_of_the_domains_names(build):
    assert set(orders(*build(rows=3, order="fixed"), range(10))) == {(0, 1, 2)}


def test_fewer_steps_than_domains_take_those_that_the_batch_holds(build):
    model, algorithm, batch = build(meta_steps=2)
    assert algorithm.domains_per_batch == algorithm.batches_per_step == 2
    assert algorithm.eps == pytest.approx(0.005)
    found = orders(model, algorithm, batch.select(batch.domain != 1), range(20))
    assert set(found) == {(0, 2), (2, 0)}


def test_a_batch_of_other_domains_than_asked_for_is_an_error(build):
    model, algorithm, batch = build()
    with pytest.raises(ValueError, match=r"makes 3 steps.*holds 2 of them"):
        algorithm.update(Watched(model, algorithm), batch.select(batch.domain != 1))


def test_more_steps_than_source_domains_are_refused(build):
    with pytest.raises(InputError, match=r"meta_steps: 4.*from 3 \(north, south, west\)"):
        build(meta_steps=4)


def test_a_start_from_first_weights_is_warned_of_where_nearly_nothing_is_kept(build, run_config):
    _, published, _ = build()
    _, domainbed, _ = build(meta_lr=0.5, divide=False)
    cold, warm = run_config(), run_config(training={"init_from": "runs/erm"})
    said_of = functools.partial(Fish.check_run, processes=1, steps=9)
    (said,) = said_of(published, cold)
    assert "training.init_from" in said
    assert "0.0033" in said
    assert said_of(published, warm) == said_of(domainbed, cold) == []


def test_nothing_stacks_on_it(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match=r"algorithm\.base: fish makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base={"name": "fish"})
