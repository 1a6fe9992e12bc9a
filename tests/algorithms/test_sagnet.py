"""SagNet beside its update, which `tests/fidelity` derives."""

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn import functional

from medldr.algorithms.sagnet import (
    randomise_content,
    randomise_style,
    uncertainty,
)
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.models.base import CosineHead, FeatureModel
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep


class Flat(FeatureModel):
    """A linear encoder, exact in the precision of its weights."""

    def __init__(self, spec):
        super().__init__(stage_dims=(6,) * 5, dim=6, num_classes=spec.num_classes)
        self.encoder = nn.Linear(64, 6)

    def features(self, image, taps=None):
        return torch.tanh(self.encoder(image.flatten(1)))


@pytest.fixture
def build(standins):
    def make(task="multi-class", exact=False, **keys):
        spec = standins.make_spec(task, domains=False)
        torch.manual_seed(0)
        model = Flat(spec) if exact else standins.make_model(spec)
        algorithm = standins.make_algorithm("sagnet", spec, model, **keys).train()
        batch = standins.make_batch(spec)
        if exact:
            model, algorithm = model.double(), algorithm.double()
            batch = batch._replace(image=batch.image.double())
        return model, algorithm, batch

    return make


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def step_of(model, algorithm, **options):
    training = TrainingConfig(**{"optimizer": "sgd", "lr": 0.1, "momentum": 0.0} | options)
    optimizers = build_optimizers(algorithm.optimizers(model), training)
    pair = TrainStep(model, algorithm)
    return Stepper(Fabric(accelerator="cpu", devices=1), pair, optimizers, total=10)


def test_latents_without_any_spread_have_a_finite_gradient():
    z = torch.zeros(3, 4, requires_grad=True)
    other = draw(3, 4).float()
    mixed = randomise_style(z, other, torch.full((3, 1), 0.5)) + randomise_content(z, other)
    (gradient,) = torch.autograd.grad(mixed.square().sum(), z)
    assert torch.isfinite(gradient).all()


def test_uncertainty_equals_numpy():
    logits = draw(4, 5)
    values = logits.numpy()
    log_p = values - np.log(np.exp(values).sum(1, keepdims=True))
    assert uncertainty(logits).item() == pytest.approx(-log_p.mean(), abs=1e-12)
    s = 1 / (1 + np.exp(-values))
    both = -(np.log(s) + np.log(1 - s)) / 2
    assert uncertainty(logits, multi_label=True).item() == pytest.approx(both.mean(), abs=1e-12)


def test_the_three_losses_of_several_labels_are_those_of_the_draws(build):
    model, algorithm, batch = build("multi-label", exact=True, weight=0.3)
    z = model.features(batch.image)
    torch.manual_seed(4)
    share, partner = torch.rand(12, 1).double(), torch.randperm(12)
    content = model.classify(randomise_style(z, z[partner], share))
    torch.manual_seed(4)
    style = algorithm.style_head(randomise_content(z, z[torch.randperm(12)]))
    expected = (
        algorithm.classification_loss(content, batch.label),
        algorithm.classification_loss(style, batch.label),
        0.3 * uncertainty(style, multi_label=True),
    )
    for method, value in zip(("loss", "style_loss", "adversarial_loss"), expected, strict=True):
        torch.manual_seed(4)
        out = getattr(algorithm, method)(model, batch)
        assert abs(out.loss - value).item() <= 1e-10
        torch.testing.assert_close(out.z, z)
        torch.testing.assert_close(out.logits, model.classify(z))


def test_with_weight_0_the_third_update_is_left_out(build):
    model, algorithm, batch = build(weight=0.0)
    step = step_of(model, algorithm)
    out = algorithm.update(step, batch)
    assert set(out.logs) == {"loss/content", "loss/style"}
    assert model.passes == 2


def test_every_pass_draws_anew_and_eval_mode_draws_nothing(build):
    model, algorithm, batch = build()
    losses = [algorithm.loss(model, batch).loss for _ in range(2)]
    assert not torch.equal(*losses)
    algorithm.eval()
    state = torch.get_rng_state()
    out = algorithm.loss(model, batch)
    plain = functional.cross_entropy(model(batch.image), batch.label)
    torch.testing.assert_close(out.loss, plain)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_single_row_and_no_domains_will_do(build):
    model, algorithm, batch = build()
    assert not algorithm.needs_domains
    out = algorithm.loss(model, batch.select(torch.tensor([3])))
    torch.testing.assert_close(
        out.loss, functional.cross_entropy(out.logits, batch.label[3:4])
    )  # its own partner


def test_frozen_weights_of_the_network_are_left_out(build):
    model, algorithm, _ = build()
    model.blocks[0].requires_grad_(False)
    groups = algorithm.optimizers(model)
    given = {n: {id(p) for g in gs for p in g["params"]} for n, gs in groups.items()}
    assert given["features"] == {id(p) for b in model.blocks[1:] for p in b.parameters()}
    assert given["content"] == {id(p) for p in model.head.parameters()}


def test_the_losses_are_float32_also_under_autocast(build):
    model, algorithm, batch = build()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.manual_seed(4)
        out = algorithm.adversarial_loss(model, batch)
    torch.manual_seed(4)
    mixed = randomise_content(out.z, out.z[torch.randperm(12)])
    expected = 0.1 * uncertainty(algorithm.style_head(mixed))
    assert out.loss.dtype == torch.float32
    torch.testing.assert_close(out.loss, expected)


@pytest.mark.slow  # compilation
@pytest.mark.parametrize("method", ["loss", "style_loss", "adversarial_loss"])
def test_it_compiles_to_the_same_loss(method, build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build()
    torch.manual_seed(3)
    expected = getattr(algorithm, method)(model, batch).loss
    compiled = torch.compile(getattr(algorithm, method), backend="eager")
    torch.manual_seed(3)
    torch.testing.assert_close(compiled(model, batch).loss, expected)


def test_it_is_refused_as_a_base(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="sagnet makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base="sagnet")


def test_a_loss_of_cosines_is_refused_because_the_style_head_is_linear(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    model.head = CosineHead(model.dim, spec.num_classes)
    with pytest.raises(InputError, match=r"linear head.*with sagnet"):
        standins.make_algorithm("sagnet", spec, model, loss={"name": "ldam"})
