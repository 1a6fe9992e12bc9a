"""What MLDG does beside its update, which `tests/fidelity` derives: pairs, blocks, refusals."""

import copy
import functools
from collections import Counter

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from medldr import plugins
from medldr.algorithms._pairs import make_pairs
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.models import build_model
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec


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


@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
@pytest.mark.parametrize("order", ["first", "second"])
def test_with_beta_0_the_ring_is_erm_on_the_mean_risk(task, order, build):
    model, algorithm, batch = build(task, double=True, beta=0.0, inner="sgd", order=order)
    risks = [algorithm.loss(model, batch.select(batch.domain == d)).loss for d in range(3)]
    expected = flat(gradient_at(model, torch.stack(risks).mean()))
    step = stepper(model, algorithm)
    algorithm.update(step, batch)
    assert (flat(step.gradient) - expected).abs().max() <= 1e-10


def test_where_the_optimizer_is_adamw_so_is_that_of_the_trial_steps(build):
    model, algorithm, batch = build(double=True, inner="adam", beta=1.5)
    inner = functools.partial(torch.optim.AdamW, lr=0.03, weight_decay=0.2)
    expected = expected_gradient(model, algorithm, batch, inner, beta=1.5)
    step = stepper(model, algorithm, "adamw", lr=0.03, weight_decay=0.2)
    algorithm.update(step, batch)
    torch.testing.assert_close(flat(step.gradient), expected, rtol=1e-6, atol=1e-8)


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


def test_volumes_train_in_second_order(standins):
    spec = DataSpec("binary", ("no", "yes"), (5, 5), 1, (8, 8, 8), ("a", "b"), ("a", "b"))
    config = plugins.load("models", "resnet18").Config(name="resnet18", width=0.125, stem="small")
    model = build_model(config, spec, seed=0)
    algorithm = standins.make_algorithm("mldg", spec, model, order="second", inner="sgd")
    rows = torch.arange(4)
    image = torch.randn(4, 1, 8, 8, 8, generator=torch.Generator().manual_seed(0))
    step = stepper(model, algorithm)
    algorithm.update(step, Batch(image, rows // 2, rows % 2, rows, rows))
    found = flat(g for g in step.gradient if g is not None)
    assert found.isfinite().all()
    assert found.abs().sum() > 0


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
