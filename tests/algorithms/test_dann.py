"""DANN beside its update, which `tests/fidelity` derives: the discriminator and its turns."""

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.nn import functional

from medldr.algorithms._adversarial import ganin_strength, turn_of_discriminator
from medldr.algorithms._discriminator import Discriminator
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep


@pytest.fixture
def build(standins):
    def make(task="multi-class", **keys):
        spec = standins.make_spec(task)
        torch.manual_seed(0)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("dann", spec, model, **keys).train()
        return model, algorithm, standins.make_batch(spec)

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


def test_without_a_penalty_no_slope_is_computed(build, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(Discriminator, "with_slopes", refuse)
    model, algorithm, batch = build()
    assert "loss/penalty" not in algorithm.loss(model, batch).logs
    model, algorithm, batch = build(grad_penalty=0.1)
    with pytest.raises(AssertionError):
        algorithm.loss(model, batch)


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
    guess, slopes = algorithm.discriminator.with_slopes(out.z.detach(), batch.domain)
    expected = functional.cross_entropy(guess, batch.domain) + slopes.square().sum(1).mean()
    assert out.loss.dtype == torch.float32
    torch.testing.assert_close(out.loss, expected, rtol=1e-5, atol=0)


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
