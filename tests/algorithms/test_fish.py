"""Fish against its definition, worked out by hand, in NumPy, or by plain steps on the weights."""

import copy
import functools
from collections import Counter
from itertools import permutations

import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from medldr.algorithms.fish import Fish, FishConfig
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec, StepOutput

AIMS = torch.tensor([1.0, 2.0, 3.0])


class Point(nn.Module):
    """One number, to be moved."""

    def __init__(self):
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(()))
        self.head = nn.Identity()


class QuadraticFish(Fish):
    """Every domain pulls the number towards its aim: ``(theta - aim)^2 / 2``."""

    def loss(self, model, batch):
        loss = 0.5 * (model.theta - AIMS[batch.domain]).square().mean()
        z = model.theta.expand(len(batch.index), 1)
        return StepOutput(loss, z, z, {"loss/original": loss.detach()})


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


def quadratic(domains=3, lr=0.1, **keys):
    """After one update in a fixed order: the number, and what the step reported."""
    names = ("a", "b", "c")[:domains]
    spec = DataSpec("multi-class", ("x", "y"), (1, 1), 1, (8, 8), names, names)
    model = Point()
    algorithm = QuadraticFish(FishConfig(order="fixed", **keys), spec, model)
    rows = torch.arange(2 * domains)
    batch = Batch(torch.zeros(2 * domains, 1), rows % 2, rows % domains, rows, rows)
    out = algorithm.update(stepper(model, algorithm, lr), batch)
    return model.theta.item(), out


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


# ---------------------------------------------------------------- one update


def test_worked_value_of_three_quadratic_domains():
    # 0 -> 0.1 -> 0.29 -> 0.561, of which a three-hundredth is kept.
    theta, out = quadratic()
    assert theta == pytest.approx(0.00187, rel=1e-5)
    assert [round(v.item(), 6) for k, v in sorted(out.logs.items()) if "domain" in k] == [
        0.5,  # (0 - 1)^2 / 2
        1.805,  # (0.1 - 2)^2 / 2
        3.67205,  # (0.29 - 3)^2 / 2
    ]
    assert out.loss.item() == pytest.approx((0.5 + 1.805 + 3.67205) / 3)


def test_a_meta_lr_of_as_many_as_there_are_steps_ends_where_the_inner_steps_do():
    assert quadratic(meta_lr=3)[0] == pytest.approx(0.561)
    assert quadratic(meta_lr=1, divide=False)[0] == quadratic(meta_lr=3)[0]


def test_without_the_division_the_whole_factor_counts():
    assert quadratic(divide=False)[0] == pytest.approx(0.00561)


@pytest.mark.parametrize("lr", [0.1, 0.5, 1.0])
def test_two_quadratic_domains_end_at_the_closed_form(lr):
    # (1 - lr)^2 theta + lr (1 - lr) a_1 + lr a_2, from theta = 0.
    theta, _ = quadratic(domains=2, lr=lr, meta_lr=2)
    assert theta == pytest.approx(lr * (1 - lr) * 1 + lr * 2)


def test_eps_0_leaves_every_weight_bit_for_bit(build):
    model, algorithm, batch = build(meta_lr=0, norm=True)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    algorithm.update(stepper(model, algorithm), batch)
    changed = [k for k, v in model.state_dict().items() if not torch.equal(v, before[k])]
    assert changed == ["norm.num_batches_tracked"]


def test_eps_1_keeps_the_inner_steps_bit_for_bit(build, standins):
    model, algorithm, batch = build(meta_lr=1, divide=False, order="fixed")
    plain = copy.deepcopy(model)
    erm = standins.make_algorithm("erm", standins.make_spec(), plain)
    step = stepper(plain, erm, momentum=0.9)
    for part in batch.by_domain():
        erm.update(step, part)
    algorithm.update(stepper(model, algorithm, momentum=0.9), batch)
    assert not far(model, plain, rtol=0, atol=0)


def test_any_eps_goes_that_part_of_the_way(build):
    model, algorithm, batch = build(meta_lr=0.6, order="fixed")
    start, end = copy.deepcopy(model), sgd(model, algorithm, batch.by_domain())
    algorithm.update(stepper(model, algorithm), batch)
    for p, a, b in zip(model.parameters(), start.parameters(), end.parameters(), strict=True):
        expected = a.double() + 0.2 * (b.double() - a.double())
        torch.testing.assert_close(p.double(), expected, rtol=1e-6, atol=1e-7)


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


def test_at_small_rates_it_steps_along_the_sum_of_the_domains_gradients(build):
    model, algorithm, batch = build(meta_lr=3)
    summed = [torch.zeros_like(p) for p in model.parameters()]
    for part in batch.by_domain():
        loss = algorithm.loss(model, part).loss
        for total, g in zip(summed, torch.autograd.grad(loss, [*model.parameters()]), strict=True):
            total += g
    errors = []
    for lr in (0.1, 0.01):
        moved = copy.deepcopy(model)
        algorithm.update(stepper(moved, algorithm, lr=lr), batch)
        pairs = zip(moved.parameters(), model.parameters(), strict=True)
        step = torch.cat([((b - a) / lr).detach().flatten() for a, b in pairs])
        expected = torch.cat([g.flatten() for g in summed])
        errors.append(((step - expected).norm() / expected.norm()).item())
    assert errors[1] < 0.02
    assert errors[1] < 0.2 * errors[0]  # what is left is of the second order


def test_running_statistics_are_interpolated_and_the_counter_is_not(build):
    model, algorithm, batch = build(norm=True, meta_lr=0.3, order="fixed")
    seen = []
    model.norm.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].double()))
    algorithm.update(stepper(model, algorithm), batch)
    mean, variance = torch.zeros(4).double(), torch.ones(4).double()
    for x in seen:  # torch's running statistics, momentum 0.1, unbiased
        mean = 0.9 * mean + 0.1 * x.mean((0, 2, 3))
        variance = 0.9 * variance + 0.1 * x.transpose(0, 1).flatten(1).var(1)
    torch.testing.assert_close(model.norm.running_mean.double(), 0.1 * mean, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(
        model.norm.running_var.double(), 1 + 0.1 * (variance - 1), rtol=1e-6, atol=0
    )
    assert model.norm.num_batches_tracked.item() == 3


@pytest.mark.parametrize("keep", [True, False])
def test_momentum_goes_on_from_one_update_to_the_next_unless_it_shall_not(keep, build):
    model, algorithm, batch = build(meta_lr=1.5, order="fixed", keep_optimizer=keep)
    by_hand, velocity = copy.deepcopy(model), None
    step = stepper(model, algorithm, momentum=0.9)
    for _ in range(2):
        algorithm.update(step, batch)
        start = [p.detach().clone() for p in by_hand.parameters()]
        velocity = velocity if keep else None
        for part in batch.by_domain():
            loss = algorithm.loss(by_hand, part).loss
            gradient = torch.autograd.grad(loss, [*by_hand.parameters()])
            old = velocity or [torch.zeros_like(g) for g in gradient]
            velocity = [0.9 * v + g for v, g in zip(old, gradient, strict=True)]
            with torch.no_grad():
                for p, v in zip(by_hand.parameters(), velocity, strict=True):
                    p -= 0.1 * v
        with torch.no_grad():
            for p, s in zip(by_hand.parameters(), start, strict=True):
                p.copy_(s + 0.5 * (p - s))
    assert not far(model, by_hand, rtol=1e-5, atol=1e-6)


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


# ---------------------------------------------------------------- the order of the domains


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


# ---------------------------------------------------------------- what is refused


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
