"""MLDG against its definition: a quadratic toy by hand, and gradients by plain steps on copies."""

import copy
from collections import Counter

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from medldr import plugins
from medldr.algorithms._pairs import make_pairs
from medldr.algorithms.mldg import MLDG, MLDGConfig
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.models import build_model
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec

AIMS = (1.0, 2.0, 4.0)


class Point(nn.Module):
    """One number, to be moved; it is its own latent and logit."""

    def __init__(self, theta):
        super().__init__()
        self.theta = nn.Parameter(torch.tensor(theta, dtype=torch.float64))
        self.head = nn.Identity()

    def features(self, image):
        return self.theta.expand(len(image), 1)

    def classify(self, z):
        return z

    def forward(self, image):
        return self.classify(self.features(image))


class QuadraticMLDG(MLDG):
    """Every domain pulls the number towards its aim: ``(theta - aim)^2 / 2``."""

    def classification_loss(self, logits, target):
        return 0.5 * (logits[:, 0] - target).square().mean()


class Watched(Stepper):
    """Keeps the gradient that the optimizer's step is made with, and what the weights were."""

    def optimizer_step(self, *names):
        self.gradient = [None if p.grad is None else p.grad.clone() for p in self.weights()]
        self.before = [p.detach().clone() for p in self.weights()]
        super().optimizer_step(*names)

    def weights(self):
        return list(self.pair.model.parameters())


def stepper(model, algorithm, optimizer="sgd", **options):
    training = TrainingConfig(optimizer=optimizer, **{"lr": 0.1, "momentum": 0.0, **options})
    return Watched(
        Fabric(accelerator="cpu", devices=1),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def quadratic(theta=0.0, domains=3, optimizer="sgd", weight_decay=0.0, **keys):
    """The gradient of one update, with the pairs that it drew."""
    names = ("a", "b", "c")[:domains]
    spec = DataSpec("multi-class", ("x",), (1,), 1, (8, 8), names, names)
    model = Point(theta)
    torch.manual_seed(0)
    algorithm = QuadraticMLDG(MLDGConfig(**keys), spec, model)
    rows = torch.arange(2 * domains)
    domain = rows % domains
    label = torch.tensor(AIMS, dtype=torch.float64)[domain]
    batch = Batch(torch.zeros(2 * domains, 1), label, domain, rows, rows)
    step = stepper(model, algorithm, optimizer, weight_decay=weight_decay)
    algorithm.update(step, batch)
    assert step.before[0].item() == theta
    _, pairs = algorithm._drawn(0, batch)
    return step.gradient[0].item(), pairs


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, norm=False, double=False, rows=12, **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec, norm=norm)
        algorithm = standins.make_algorithm("mldg", spec, model, **keys).train()
        batch = standins.make_batch(standins.make_spec(task), rows)
        if double:
            model.double()
            batch = batch._replace(image=batch.image.double())
        return model, algorithm, batch

    return make


def gradient_at(model, loss):
    return torch.autograd.grad(loss, list(model.parameters()), allow_unused=True)


def flat(tensors):
    return torch.cat([t.flatten() for t in tensors])


def expected_gradient(model, algorithm, batch, inner, beta=1.0):
    """First order, by plain steps on a copy: ``inner`` makes the optimizer of a trial step."""
    _, pairs = algorithm._drawn(0, batch)
    total = 0
    for i, j in pairs:
        trial = copy.deepcopy(model)
        one, other = (batch.select(batch.domain == d) for d in (i, j))
        first = gradient_at(trial, algorithm.loss(trial, one).loss)
        for p, g in zip(trial.parameters(), first, strict=True):
            p.grad = g.clone()
        inner(trial.parameters()).step()
        second = gradient_at(trial, algorithm.loss(trial, other).loss)
        total = total + flat(first) + beta * flat(second)
    return total / algorithm.divisor


# ---------------------------------------------------------------- the quadratic toy


@pytest.mark.parametrize("eta", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_first_order_gradient_of_the_quadratic_toy(eta, beta):
    found, pairs = quadratic(theta=0.3, inner="sgd", inner_lr=eta, beta=beta)
    expected = np.mean(
        [(0.3 - AIMS[i]) + beta * (0.3 - eta * (0.3 - AIMS[i]) - AIMS[j]) for i, j in pairs]
    )
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("eta", [0.0, 0.1, 0.5])
def test_second_order_multiplies_the_second_gradient_by_1_minus_eta(eta):
    found, pairs = quadratic(theta=0.3, inner="sgd", inner_lr=eta, order="second", beta=2.0)
    after = [0.3 - eta * (0.3 - AIMS[i]) - AIMS[j] for i, j in pairs]
    first = [0.3 - AIMS[i] for i, _ in pairs]
    expected = np.mean(first) + 2 * (1 - eta) * np.mean(after)
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_worked_value_of_two_domains():
    # From 0: gradients -1 and -2; trial steps of 0.5 lead to 0.5 and 1; there -1.5 and 0.
    assert quadratic(domains=2, inner="sgd", inner_lr=0.5)[0] == pytest.approx(-2.25)
    second, _ = quadratic(domains=2, inner="sgd", inner_lr=0.5, order="second")
    assert second == pytest.approx(-1.5 - 0.375)


def test_a_fresh_adam_steps_by_its_rate_whatever_the_gradient():
    # From 0 every domain pulls upwards: all trial steps lead to 0.25.
    found, pairs = quadratic(inner_lr=0.25)
    expected = np.mean([-AIMS[i] + 0.25 - AIMS[j] for i, j in pairs])
    assert found == pytest.approx(expected, abs=1e-7)


def test_of_three_domains_two_for_testing_leave_one_pair():
    found, pairs = quadratic(pairs="split", n_meta_test=2, inner="sgd", inner_lr=0.5)
    ((i, j),) = pairs
    assert found == pytest.approx(-AIMS[i] + 0.5 * AIMS[i] - AIMS[j])
    third, again = quadratic(
        pairs="split", n_meta_test=2, inner="sgd", inner_lr=0.5, divide="domains"
    )
    assert again == pairs
    assert third == pytest.approx(found / 3)


def test_an_unset_rate_is_that_of_the_optimizers_own_step():
    assert quadratic(inner="sgd")[0] == quadratic(inner="sgd", inner_lr=0.1)[0]
    assert quadratic(inner="sgd")[0] != quadratic(inner="sgd", inner_lr=0.2)[0]


# ---------------------------------------------------------------- networks


@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
@pytest.mark.parametrize("order", ["first", "second"])
def test_with_beta_0_the_ring_is_erm_on_the_mean_risk(task, order, build):
    model, algorithm, batch = build(task, double=True, beta=0.0, inner="sgd", order=order)
    risks = [algorithm.loss(model, batch.select(batch.domain == d)).loss for d in range(3)]
    expected = flat(gradient_at(model, torch.stack(risks).mean()))
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert (flat(step.gradient) - expected).abs().max() <= 1e-10


@pytest.mark.parametrize("order", ["first", "second"])
def test_a_trial_step_of_rate_0_gives_1_plus_beta_times_the_gradient(order, build):
    keys = {"inner": "sgd", "inner_lr": 0.0, "order": order}
    model, algorithm, batch = build(double=True, beta=0.7, **keys)
    expected = 1.7 * flat(gradient_at(model, algorithm.loss(model, batch).loss))
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert (flat(step.gradient) - expected).abs().max() <= 1e-10


INNER = {
    "adam": lambda ps: torch.optim.Adam(ps, lr=0.03, weight_decay=0.2),
    "adamw": lambda ps: torch.optim.AdamW(ps, lr=0.03, weight_decay=0.2),
    "sgd": lambda ps: torch.optim.SGD(ps, lr=0.03, weight_decay=0.2),
}


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize(
    ("inner", "outer"), [("adam", "adam"), ("adam", "sgd"), ("adamw", "adamw"), ("sgd", "adam")]
)
def test_first_order_gradient_equals_plain_steps_of_torchs_optimizers(inner, outer, norm, build):
    keys = {"inner": "sgd" if inner == "sgd" else "adam", "beta": 1.5}
    model, algorithm, batch = build(double=True, norm=norm, **keys)
    expected = expected_gradient(model, algorithm, batch, INNER[inner], beta=1.5)
    step = stepper(model, algorithm, outer, lr=0.03, weight_decay=0.2)
    algorithm.update(step, batch)
    torch.testing.assert_close(flat(step.gradient), expected, rtol=1e-6, atol=1e-8)


def test_second_order_gradient_equals_finite_differences(build):
    keys = {"inner": "sgd", "inner_lr": 0.2, "order": "second", "beta": 1.5}
    model, algorithm, batch = build(double=True, **keys)
    _, pairs = algorithm._drawn(0, batch)
    parts = [batch.select(batch.domain == d) for d in range(3)]

    def value(weights):
        """The loss of all pairs, as a plain function of the weights."""
        total = 0.0
        for i, j in pairs:
            nn.utils.vector_to_parameters(weights, model.parameters())
            first = algorithm.loss(model, parts[i]).loss
            moved = weights - 0.2 * flat(gradient_at(model, first))
            nn.utils.vector_to_parameters(moved, model.parameters())
            total += first.item() + 1.5 * algorithm.loss(model, parts[j]).loss.item()
        nn.utils.vector_to_parameters(weights, model.parameters())
        return total / 3

    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    way = torch.randn(len(weights), generator=torch.Generator().manual_seed(1)).double()
    slope = (value(weights + 1e-5 * way) - value(weights - 1e-5 * way)) / 2e-5
    nn.utils.vector_to_parameters(weights, model.parameters())
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert (flat(step.gradient) @ way).item() == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("order", ["first", "second"])
def test_weights_are_what_they_were_until_the_one_outer_step(order, build):
    model, algorithm, batch = build(inner="sgd", order=order)
    before = [p.detach().clone() for p in model.parameters()]
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert all(torch.equal(a, b) for a, b in zip(before, step.before, strict=True))
    for p, start, gradient in zip(model.parameters(), before, step.gradient, strict=True):
        torch.testing.assert_close(p.detach(), start - 0.1 * gradient)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("order", ["first", "second"])
def test_statistics_move_once_by_the_mean_of_the_first_passes(order, build):
    model, algorithm, batch = build(norm=True, double=True, inner="sgd", order=order)
    expected = {"running_mean": [], "running_var": []}
    for domain in range(3):
        trial = copy.deepcopy(model)
        algorithm.loss(trial, batch.select(batch.domain == domain))
        for name, values in expected.items():
            values.append(getattr(trial.norm, name))
    start = copy.deepcopy(model.norm)
    algorithm.update(stepper(model, algorithm), batch)
    for name, values in expected.items():
        mean = torch.stack(values).mean(0)
        torch.testing.assert_close(getattr(model.norm, name), mean, rtol=1e-12, atol=1e-12)
        assert not torch.equal(mean, getattr(start, name))


@pytest.mark.parametrize("order", ["first", "second"])
def test_frozen_statistics_stay_bit_for_bit(order, build):
    model, algorithm, batch = build(norm=True, inner="sgd", order=order)
    step = stepper(model, algorithm)
    model.norm.eval()
    with torch.no_grad():
        model.norm.running_mean.uniform_()
    before = model.norm.running_mean.clone()
    algorithm.update(step, batch)
    assert torch.equal(model.norm.running_mean, before)
    assert torch.equal(model.norm.running_var, torch.ones(4))


def test_it_reports_the_first_losses_with_latents_and_logits_of_every_row(build):
    model, algorithm, batch = build(beta=2.0)
    expected = copy.deepcopy(model)
    out = algorithm.update(stepper(model, algorithm), batch)
    plain = algorithm.loss(expected, batch)
    torch.testing.assert_close(out.z, plain.z.detach())
    torch.testing.assert_close(out.logits, plain.logits.detach())
    assert out.loss.item() == pytest.approx(plain.loss.item(), rel=1e-6)
    for number, name in enumerate(("north", "south", "west")):
        own = algorithm.loss(expected, batch.select(batch.domain == number)).loss
        assert out.logs[f"loss/domain/{name}"].item() == pytest.approx(own.item(), rel=1e-6)
    assert not any(t.requires_grad for t in (out.loss, out.z, out.logits, *out.logs.values()))
    assert out.logs["loss/meta_test"] != out.logs["loss/original"]


@pytest.mark.parametrize("order", ["first", "second"])
def test_a_split_reports_the_meta_train_rows_alone(order, build):
    model, algorithm, batch = build(pairs="split", n_meta_test=2, order=order, inner="sgd")
    expected = copy.deepcopy(model)
    out = algorithm.update(stepper(model, algorithm), batch)
    ((train, _),) = algorithm._drawn(0, batch)[1]
    mine = batch.domain == train
    logits = algorithm.loss(expected, batch).logits
    torch.testing.assert_close(out.logits[mine], logits[mine].detach())
    assert out.logits[~mine].isnan().all()
    right = (logits[mine].argmax(1) == batch.label[mine]).float().mean()
    assert out.logs["accuracy"].item() == pytest.approx(right.item())


# ---------------------------------------------------------------- pairs


def test_a_ring_has_each_domain_once_in_each_role():
    for size in (2, 3, 5):
        drawn = np.random.default_rng(size).permutation(size).tolist()
        pairs = make_pairs(drawn, None)
        assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(size))
        assert all(i != j for i, j in pairs)


@pytest.mark.parametrize(("size", "n_meta_test"), [(3, 1), (3, 2), (5, 2), (6, 4)])
def test_a_split_has_a_pair_for_each_domain_that_is_not_for_testing(size, n_meta_test):
    pairs = make_pairs(list(range(size)), n_meta_test)
    assert len(pairs) == size - n_meta_test
    assert [i for i, _ in pairs] == list(range(n_meta_test, size))
    assert [j for _, j in pairs] == [k % n_meta_test for k in range(size - n_meta_test)]


def test_every_pair_is_drawn_as_often_and_the_draws_follow_seed_and_step(build, standins):
    _, algorithm, batch = build()
    drawn = [tuple(sorted(algorithm._drawn(k, batch)[1])) for k in range(400)]
    counts = Counter(drawn)
    assert len(counts) == 2  # the two directions round the ring
    assert min(counts.values()) > 150
    assert [tuple(sorted(algorithm._drawn(k, batch)[1])) for k in range(400)] == drawn
    model = standins.make_model(standins.make_spec())
    other = standins.make_algorithm("mldg", standins.make_spec(), model, seed=1)
    assert [tuple(sorted(other._drawn(k, batch)[1])) for k in range(400)] != drawn


def test_uneven_blocks_count_as_much_as_each_other(build):
    model, algorithm, batch = build(double=True, beta=0.0, rows=11)
    risks = [algorithm.loss(model, batch.select(batch.domain == d)).loss for d in range(3)]
    expected = flat(gradient_at(model, torch.stack(risks).mean()))
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert (flat(step.gradient) - expected).abs().max() <= 1e-10


# ---------------------------------------------------------------- what it works with


@pytest.mark.parametrize(("name", "order"), [("resnet18", "second"), ("densenet121", "first")])
def test_volumes_train(name, order, standins):
    spec = DataSpec("binary", ("no", "yes"), (5, 5), 1, (8, 8, 8), ("a", "b"), ("a", "b"))
    config = plugins.load("models", name).Config(name=name, width=0.125, stem="small")
    model = build_model(config, spec, seed=0)
    algorithm = standins.make_algorithm("mldg", spec, model, order=order, inner="sgd")
    rows = torch.arange(4)
    image = torch.randn(4, 1, 8, 8, 8, generator=torch.Generator().manual_seed(0))
    step = stepper(model, algorithm)
    algorithm.update(step, Batch(image, rows // 2, rows % 2, rows, rows))
    found = flat(g for g in step.gradient if g is not None)
    assert found.isfinite().all()
    assert found.abs().sum() > 0


@pytest.mark.parametrize("order", ["first", "second"])
def test_bfloat16_autocast_trains(order, build):
    model, algorithm, batch = build(order=order, inner="sgd")
    training = TrainingConfig(optimizer="sgd", lr=0.1)
    step = Stepper(
        Fabric(accelerator="cpu", devices=1, precision="bf16-mixed"),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )
    plain = copy.deepcopy((model, algorithm))
    algorithm.update(step, batch)
    algorithm_2 = plain[1]
    algorithm_2.update(stepper(*plain), batch)
    for p, q in zip(model.parameters(), plain[0].parameters(), strict=True):
        torch.testing.assert_close(p, q, rtol=0.05, atol=0.01)


@pytest.mark.parametrize(
    ("changes", "processes", "message"),
    [
        ({"training": {"precision": "float16"}}, 1, "precision: float16.*bfloat16 or float32"),
        ({}, 2, r"one process, not in 2.*machine\.devices: 1"),
        ({"machine": {"compile": True}}, 1, r"machine\.compile: false"),
    ],
)
def test_runs_that_it_cannot_work_in_are_refused(changes, processes, message, build, run_config):
    config = run_config(algorithm={"name": "mldg"}, **changes)
    _, algorithm, _ = build(order="second", inner="sgd")
    with pytest.raises(InputError, match=message):
        algorithm.check_run(config, processes=processes, steps=9)
    _, first, _ = build()
    if "training" not in changes:
        assert first.check_run(config, processes=processes, steps=9) == []


def test_a_split_without_pairs_is_refused_with_the_cure(build):
    with pytest.raises(InputError, match=r"n_meta_test: 3 of 3 source domains.*2 or less.*ring"):
        build(pairs="split", n_meta_test=3)


def test_a_batch_that_lacks_a_domain_is_an_error(build):
    model, algorithm, batch = build()
    with pytest.raises(ValueError, match="all 3 source domains, but the batch holds 2"):
        algorithm.update(stepper(model, algorithm), batch.select(batch.domain != 1))


def test_nothing_stacks_on_it(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="mldg makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base={"name": "mldg"})
