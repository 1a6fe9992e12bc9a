"""DANN against its definition, in float64 where the value is exact."""

import copy
import math

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn import functional

from medldr.algorithms._adversarial import ganin_strength, turn_of_discriminator
from medldr.algorithms._discriminator import Discriminator
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep


class Flat(FeatureModel):
    """A linear encoder, exact in the precision of its weights."""

    def __init__(self, spec):
        super().__init__(stage_dims=(6,) * 5, dim=6, num_classes=spec.num_classes)
        self.encoder = nn.Linear(math.prod(spec.spatial_size), 6)

    def features(self, image, taps=None):
        return torch.tanh(self.encoder(image.flatten(1)))


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, exact=False, **keys):
        spec = spec or standins.make_spec(task)
        torch.manual_seed(0)
        model = Flat(spec) if exact else standins.make_model(spec)
        algorithm = standins.make_algorithm("dann", spec, model, **keys).train()
        batch = standins.make_batch(standins.make_spec(task))
        if exact:
            model, algorithm = model.double(), algorithm.double()
            batch = batch._replace(image=batch.image.double())
        return model, algorithm, batch

    return make


def stepper(model, algorithm, total=10, **options):
    training = TrainingConfig(**{"optimizer": "sgd", "lr": 0.1, "momentum": 0.0} | options)
    optimizers = build_optimizers(algorithm.optimizers(model), training, lr_scale=0.5)
    pair = TrainStep(model, algorithm)
    return Stepper(Fabric(accelerator="cpu", devices=1), pair, optimizers, total=total)


def encoder_gradient(model, loss):
    return torch.cat(
        [g.flatten().double() for g in torch.autograd.grad(loss, [*model.parameters()])]
    )


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def row_by_row(discriminator, seen, domain):
    """Cross-entropies and slopes of a discriminator of ReLU layers: NumPy, the chain rule."""
    layers = [*discriminator.hidden, discriminator.last]
    weights = [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in layers]
    losses, slopes = [], []
    for u, e in zip(seen.detach().numpy(), domain.tolist(), strict=True):
        value, active = u, []
        for weight, bias in weights[:-1]:
            value = weight @ value + bias
            active.append(value > 0)
            value = value * active[-1]
        scores = weights[-1][0] @ value + weights[-1][1]
        chance = np.exp(scores) / np.exp(scores).sum()
        losses.append(-np.log(chance[e]))
        slope = weights[-1][0].T @ (chance - np.eye(len(chance))[e])
        for (weight, _), on in zip(weights[-2::-1], active[::-1], strict=True):
            slope = weight.T @ (slope * on)
        slopes.append(slope)
    return np.array(losses), np.array(slopes)


def test_the_discriminator_of_2048_latents_and_3_domains_has_591107_parameters():
    discriminator = Discriminator(2048, 3, width=256, depth=3)
    assert sum(p.numel() for p in discriminator.parameters()) == 591_107


def test_the_schedule_of_ganin():
    found = [ganin_strength(p) for p in (0, 0.25, 0.5, 1)]
    np.testing.assert_allclose(found, [0, 0.848284, 0.986614, 0.999909], atol=5e-7)


@pytest.mark.parametrize(
    ("d_steps", "turns"), [(1, "ndndndnd"), (2, "dnddnddn"), (3, "ddndddnd"), (8, "dddddddn")]
)
def test_the_turns_of_a_counter_that_is_1_at_the_first_step(d_steps, turns):
    assert "".join("nd"[turn_of_discriminator(i, d_steps)] for i in range(8)) == turns


def test_the_weight_follows_the_schedule_along_the_run(build):
    model, algorithm, batch = build(schedule="ganin", weight=3.0)
    step = stepper(model, algorithm, total=8)
    for index in (0, 2, 4):
        step.index = index
        out = algorithm.update(step, batch)
        expected = (
            out.logs["loss/original"] - 3 * ganin_strength(index / 8) * out.logs["loss/domain"]
        )
        torch.testing.assert_close(out.loss, expected)


@pytest.mark.parametrize("penalty", [0.0, 0.7])
def test_the_networks_latents_get_minus_lambda_times_the_discriminators_gradient(penalty, build):
    model, algorithm, batch = build(exact=True, weight=2.5, grad_penalty=penalty)
    out = algorithm.loss(model, batch)
    (found,) = torch.autograd.grad(out.loss, out.z)
    z = out.z.detach().requires_grad_()
    plain = functional.cross_entropy(model.classify(z), batch.label)
    (original,) = torch.autograd.grad(plain, z)
    guess = algorithm.discriminator(z)
    domain = functional.cross_entropy(guess, batch.domain)
    total = functional.cross_entropy(guess, batch.domain, reduction="sum")
    (slopes,) = torch.autograd.grad(total, z, create_graph=True)
    domain = domain + penalty * slopes.square().sum(1).mean()
    (against,) = torch.autograd.grad(domain, z)
    assert against.abs().max() > 1e-4
    assert (found - original + 2.5 * against).abs().max().item() <= 1e-10
    assert abs(out.loss - plain + 2.5 * domain).item() <= 1e-10


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_losses_and_penalty_equal_a_loop_over_the_rows(depth, build):
    model, algorithm, batch = build(exact=True, depth=depth, width=7, grad_penalty=1.0)
    out = algorithm.discriminator_loss(model, batch)
    losses, slopes = row_by_row(algorithm.discriminator, out.z, batch.domain)
    penalty = (slopes**2).sum(1).mean()
    assert penalty > 1e-6
    assert abs(out.logs["loss/domain"].item() - losses.mean()) <= 1e-10
    assert abs(out.logs["loss/penalty"].item() - penalty) <= 1e-10
    assert abs(out.loss.item() - losses.mean() - penalty) <= 1e-10


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_slopes_and_their_derivatives_are_those_of_automatic_differentiation(dropout):
    torch.manual_seed(0)
    discriminator = Discriminator(4, 3, width=8, depth=4, dropout=dropout).double()
    seen, domain = draw(6, 4).requires_grad_(), torch.arange(6) % 3
    torch.manual_seed(1)
    logits, slopes = discriminator.with_slopes(seen, domain)
    torch.manual_seed(1)
    again = discriminator(seen)
    total = functional.cross_entropy(again, domain, reduction="sum")
    (expected,) = torch.autograd.grad(total, seen, create_graph=True)
    assert torch.equal(logits, again)
    assert (slopes - expected).abs().max().item() <= 1e-12
    inputs = [seen, *(p for n, p in discriminator.named_parameters() if n.endswith("weight"))]
    pairs = [torch.autograd.grad(s.square().sum(), inputs) for s in (slopes, expected)]
    for one, other in zip(*pairs, strict=True):
        assert one.abs().max() > 1e-8
        assert (one - other).abs().max().item() <= 1e-12


def test_a_rows_slope_does_not_depend_on_the_other_rows():
    torch.manual_seed(0)
    discriminator = Discriminator(4, 3, width=8, depth=3).double()
    seen, domain = draw(6, 4), torch.arange(6) % 3
    slopes = discriminator.with_slopes(seen, domain)[1]
    for i in range(6):
        alone = discriminator.with_slopes(seen[i : i + 1], domain[i : i + 1])[1]
        assert (slopes[i] - alone[0]).abs().max().item() <= 1e-12


def test_a_uniform_discriminator_has_the_loss_ln_n(build):
    model, algorithm, batch = build(exact=True)
    for parameter in algorithm.discriminator.last.parameters():
        nn.init.zeros_(parameter)
    out = algorithm.loss(model, batch)
    assert abs(out.logs["loss/domain"].item() - math.log(3)) <= 1e-10


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_turn_leaves_the_other_side_bit_for_bit(penalty, build):
    model, algorithm, batch = build(grad_penalty=penalty)
    step = stepper(model, algorithm, momentum=0.9)
    for index in range(4):
        before = copy.deepcopy(step.pair.state_dict())
        step.index = index
        out = algorithm.update(step, batch)
        changed = {k for k, v in step.pair.state_dict().items() if not torch.equal(v, before[k])}
        side = "algorithm.discriminator." if index % 2 else "model."
        assert changed == {k for k in before if k.startswith(side)}
        assert set(out.logs) >= {"loss/original", "loss/domain", "accuracy/domain"}


def test_a_discriminators_turn_is_a_step_along_its_own_gradient(build):
    model, algorithm, batch = build(lr_d=0.3)
    z = model.features(batch.image).detach()
    loss = functional.cross_entropy(algorithm.discriminator(z), batch.domain)
    parameters = [*algorithm.discriminator.parameters()]
    gradients = torch.autograd.grad(loss, parameters)
    expected = [p.detach() - 0.3 * g for p, g in zip(parameters, gradients, strict=True)]
    step = stepper(model, algorithm)
    step.index = 1
    torch.testing.assert_close(algorithm.update(step, batch).loss, loss)
    for parameter, value in zip(parameters, expected, strict=True):
        torch.testing.assert_close(parameter.detach(), value)


def test_nothing_of_the_discriminators_turn_is_differentiated_through_the_network(build):
    model, algorithm, batch = build(grad_penalty=1.0)
    algorithm.discriminator_loss(model, batch).loss.backward()
    assert all(p.grad is None for p in model.parameters())
    assert all(p.grad is not None for p in algorithm.discriminator.parameters())


def test_without_a_penalty_no_slope_is_computed(build, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(Discriminator, "with_slopes", refuse)
    model, algorithm, batch = build()
    assert "loss/penalty" not in algorithm.loss(model, batch).logs
    model, algorithm, batch = build(grad_penalty=0.1)
    with pytest.raises(AssertionError):
        algorithm.loss(model, batch)


@pytest.mark.slow
def test_the_network_deceives_a_discriminator_that_has_learned(build):
    model, algorithm, batch = build(weight=5.0)
    batch = batch._replace(image=batch.image + batch.domain[:, None, None, None])
    step = stepper(model, algorithm, optimizer="adam", lr=0.02)
    step.index = 1
    for _ in range(200):
        learned = algorithm.update(step, batch)
    assert learned.logs["loss/domain"] < 0.7
    assert learned.logs["accuracy/domain"] > 0.6
    step.index = 0
    for _ in range(5):
        out = algorithm.update(step, batch)
    assert out.logs["loss/domain"] > learned.logs["loss/domain"] + 0.2


def test_each_side_has_its_own_rate_decay_and_betas(build):
    model, algorithm, _ = build(lr_d=0.02, weight_decay_d=0.3)
    adam = stepper(model, algorithm, optimizer="adam", lr=0.1, weight_decay=0.01).optimizers
    main, against = adam["main"].param_groups[0], adam["discriminator"].param_groups[0]
    # The recipe's rate comes with the algorithm's factor, here 0.5; an own rate is used as it is.
    assert (main["lr"], main["weight_decay"], main["betas"]) == (0.05, 0.01, (0.5, 0.9))
    assert (against["lr"], against["weight_decay"], against["betas"]) == (0.02, 0.3, (0.5, 0.9))


def test_unset_keys_are_the_recipes(build):
    model, algorithm, batch = build(betas=None)
    step = stepper(model, algorithm, optimizer="adamw", betas=(0.8, 0.99), weight_decay=0.01)
    for optimizer in step.optimizers.values():
        group = optimizer.param_groups[0]
        assert (group["lr"], group["weight_decay"], group["betas"]) == (0.05, 0.01, (0.8, 0.99))
    algorithm.update(step, batch)


def test_frozen_weights_of_the_network_are_left_out(build):
    model, algorithm, _ = build()
    model.blocks[0].requires_grad_(False)
    groups = algorithm.optimizers(model)
    given = [p for group in groups["main"] for p in group["params"]]
    assert {id(p) for p in given} == {id(p) for p in model.parameters() if p.requires_grad}


def test_the_discriminator_is_float32_also_under_autocast(build):
    model, algorithm, batch = build(grad_penalty=1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = algorithm.discriminator_loss(model, batch)
    losses, slopes = row_by_row(algorithm.discriminator, out.z, batch.domain)
    assert out.loss.dtype == torch.float32
    assert out.loss.item() == pytest.approx(losses.mean() + (slopes**2).sum(1).mean(), rel=1e-5)


@pytest.mark.slow  # compilation
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_it_compiles_to_the_same_loss_and_gradient(penalty, build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build(grad_penalty=penalty)
    expected = algorithm.loss(model, batch).loss
    found = torch.compile(algorithm.loss, backend="aot_eager")(model, batch).loss
    torch.testing.assert_close(found, expected)
    gradients = [encoder_gradient(model, loss) for loss in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_it_is_refused_as_a_base(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="dann makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base="dann")
