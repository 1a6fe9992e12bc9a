"""SagNet against its definition, in float64 where the value is exact."""

import copy
import math

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
from medldr.types import DataSpec

EPS = 1e-5


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


def changes(step, act):
    before = copy.deepcopy(step.pair.state_dict())
    act()
    return {k for k, v in step.pair.state_dict().items() if not torch.equal(v, before[k])}


def parts(state):
    content = {k for k in state if k.startswith("model.head.")}
    style = {k for k in state if k.startswith("algorithm.style_head.")}
    return set(state) - content - style, content, style


def test_random_styles_equal_a_loop_over_the_rows():
    z, other, share = 2 * draw(5, 7) + 1, draw(5, 7, seed=1), torch.rand(5, 1).double()
    found = randomise_style(z, other, share)
    for i in range(5):
        own, theirs, a = z[i].numpy(), other[i].numpy(), share[i].item()
        content = (own - own.mean()) / np.sqrt(own.var(ddof=1) + EPS)
        mean = a * own.mean() + (1 - a) * theirs.mean()
        variance = a * own.var(ddof=1) + (1 - a) * theirs.var(ddof=1)
        expected = content * np.sqrt(variance + EPS) + mean
        np.testing.assert_allclose(found[i], expected, atol=1e-10)


def test_random_contents_equal_a_loop_over_the_rows():
    z, other = 2 * draw(5, 7) + 1, draw(5, 7, seed=1)
    found = randomise_content(z, other)
    for i in range(5):
        own, theirs = z[i].numpy(), other[i].numpy()
        content = (theirs - theirs.mean()) / np.sqrt(theirs.var(ddof=1) + EPS)
        expected = content * np.sqrt(own.var(ddof=1) + EPS) + own.mean()
        np.testing.assert_allclose(found[i], expected, atol=1e-10)


def test_a_style_that_is_all_ones_own_changes_nothing():
    z = draw(6, 9)
    same = randomise_style(z, draw(6, 9, seed=1), torch.ones(6, 1).double())
    assert (same - z).abs().max().item() <= 1e-10


def test_the_content_of_an_identical_row_changes_nothing():
    z = draw(1, 9).repeat(6, 1)
    assert (randomise_content(z, z[torch.randperm(6)]) - z).abs().max().item() <= 1e-10


def test_latents_without_any_spread_have_a_finite_gradient():
    z = torch.zeros(3, 4, requires_grad=True)
    other = draw(3, 4).float()
    mixed = randomise_style(z, other, torch.full((3, 1), 0.5)) + randomise_content(z, other)
    (gradient,) = torch.autograd.grad(mixed.square().sum(), z)
    assert torch.isfinite(gradient).all()


def test_no_gradient_flows_to_the_row_whose_content_is_taken_but_to_the_one_whose_style_is():
    z = draw(4, 5).requires_grad_()
    partner = torch.tensor([1, 2, 3, 0])
    (gradient,) = torch.autograd.grad(randomise_content(z, z[partner])[0].square().sum(), z)
    assert gradient[0].abs().max() > 1e-3
    assert (gradient[1:] == 0).all()
    share = torch.full((4, 1), 0.5).double()
    (gradient,) = torch.autograd.grad(randomise_style(z, z[partner], share)[0].square().sum(), z)
    assert gradient[:2].abs().amax(1).min() > 1e-3
    assert (gradient[2:] == 0).all()


def test_gradients_are_those_of_the_definitions():
    z, other = draw(3, 4).requires_grad_(), draw(3, 4, seed=1).requires_grad_()
    share = torch.tensor([[0.2], [0.7], [1.0]], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda a, b: randomise_style(a, b, share), (z, other))
    assert torch.autograd.gradcheck(lambda a: randomise_content(a, other), z)


@pytest.mark.parametrize(("multi_label", "least"), [(False, math.log(7)), (True, math.log(2))])
def test_a_uniform_guess_is_the_least_loss_of_the_encoder(multi_label, least):
    uniform = torch.full((3, 7), 0.0 if multi_label else 2.5, dtype=torch.float64)
    found = uncertainty(uniform, multi_label=multi_label).item()
    assert found == pytest.approx(least, abs=1e-12)
    if not multi_label:
        assert 0.1 * found == pytest.approx(0.194591, abs=5e-7)
    for seed in range(20):
        other = uncertainty(uniform + 0.1 * draw(3, 7, seed=seed), multi_label=multi_label)
        assert other.item() > least


def test_uncertainty_equals_numpy():
    logits = draw(4, 5)
    values = logits.numpy()
    log_p = values - np.log(np.exp(values).sum(1, keepdims=True))
    assert uncertainty(logits).item() == pytest.approx(-log_p.mean(), abs=1e-12)
    s = 1 / (1 + np.exp(-values))
    both = -(np.log(s) + np.log(1 - s)) / 2
    assert uncertainty(logits, multi_label=True).item() == pytest.approx(both.mean(), abs=1e-12)


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_the_three_losses_are_those_of_the_draws(task, build):
    model, algorithm, batch = build(task, exact=True, weight=0.3)
    z = model.features(batch.image)
    torch.manual_seed(4)
    share, partner = torch.rand(12, 1).double(), torch.randperm(12)
    content = model.classify(randomise_style(z, z[partner], share))
    torch.manual_seed(4)
    style = algorithm.style_head(randomise_content(z, z[torch.randperm(12)]))
    expected = (
        algorithm.classification_loss(content, batch.label),
        algorithm.classification_loss(style, batch.label),
        0.3 * uncertainty(style, multi_label=task == "multi-label"),
    )
    for method, value in zip(("loss", "style_loss", "adversarial_loss"), expected, strict=True):
        torch.manual_seed(4)
        out = getattr(algorithm, method)(model, batch)
        assert abs(out.loss - value).item() <= 1e-10
        torch.testing.assert_close(out.z, z)
        torch.testing.assert_close(out.logits, model.classify(z))


def test_each_update_moves_its_own_part_and_leaves_the_others_bit_for_bit(build):
    model, algorithm, batch = build(weight=1.0)
    step = step_of(model, algorithm, momentum=0.9)
    features, content, style = parts(step.pair.state_dict())
    updates = (
        ("loss", ("features", "content"), features | content),
        ("style_loss", ("style",), style),
        ("adversarial_loss", ("features",), features),
    )
    for method, names, moved in updates * 2:

        def act(method=method, names=names):
            step.backward(step.forward(batch, method).loss)
            step.optimizer_step(*names)

        assert changes(step, act) == moved


def test_nothing_of_the_second_update_is_differentiated_through_the_encoder(build):
    model, algorithm, batch = build()
    algorithm.style_loss(model, batch).loss.backward()
    assert all(p.grad is None for p in model.parameters())
    assert algorithm.style_head.weight.grad.abs().sum() > 0


def test_a_step_is_the_three_updates_in_turn(build):
    model, algorithm, batch = build(exact=True, weight=0.5)
    own, other = copy.deepcopy((model, algorithm)), (model, algorithm)
    torch.manual_seed(2)
    found = algorithm.update(step_of(*other), batch)

    model, algorithm = own
    encoder = [*model.encoder.parameters()]
    content, style = [*model.head.parameters()], [*algorithm.style_head.parameters()]
    torch.manual_seed(2)
    logs = {}
    for method, moved in (
        ("loss", encoder + content),
        ("style_loss", style),
        ("adversarial_loss", encoder),
    ):
        out = getattr(algorithm, method)(model, batch)
        logs |= out.logs
        gradients = torch.autograd.grad(out.loss, moved)
        with torch.no_grad():
            for p, g in zip(moved, gradients, strict=True):
                p.sub_(0.1 * g)
    assert set(found.logs) == {"loss/content", "loss/style", "loss/adversarial"}
    for key, value in logs.items():
        assert abs(found.logs[key] - value).item() <= 1e-10, key
    for one, two in zip(own, other, strict=True):
        for p, q in zip(one.parameters(), two.parameters(), strict=True):
            assert (p - q).abs().max().item() <= 1e-10


def test_with_weight_0_the_third_update_is_left_out(build):
    model, algorithm, batch = build(weight=0.0)
    step = step_of(model, algorithm)
    out = algorithm.update(step, batch)
    assert set(out.logs) == {"loss/content", "loss/style"}
    assert model.passes == 2


def test_the_third_loss_reaches_the_encoder_and_is_linear_in_the_weight(build):
    gradients = {}
    for weight in (0.1, 1.0):
        model, algorithm, batch = build(exact=True, weight=weight)
        torch.manual_seed(1)
        loss = algorithm.adversarial_loss(model, batch).loss
        (gradients[weight],) = torch.autograd.grad(loss, model.encoder.weight)
    assert gradients[1.0].norm() > 1e-4
    assert (gradients[1.0] - 10 * gradients[0.1]).abs().max().item() <= 1e-10


@pytest.mark.slow
def test_the_third_update_makes_the_style_head_uncertain(build):
    model, algorithm, batch = build(weight=1.0)
    step = step_of(model, algorithm, lr=0.5)
    for _ in range(200):
        step.backward(step.forward(batch, "style_loss").loss)
        step.optimizer_step("style")
    nn.init.zeros_(algorithm.style_head.bias)  # of the rest, the latents can be rid
    values = []
    for _ in range(100):
        out = step.forward(batch, "adversarial_loss")
        values.append(out.loss.item())
        step.backward(out.loss)
        step.optimizer_step("features")
    excess = np.array(values) - math.log(4)
    assert excess.min() >= 0
    assert excess[-5:].mean() < 0.5 * excess[:5].mean()


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


def test_volumes_train(standins):
    spec = DataSpec("binary", ("no", "yes"), (5, 5), 1, (4, 4, 4))
    model = standins.make_model(spec)
    algorithm = standins.make_algorithm("sagnet", spec, model)
    flat = standins.make_batch(standins.make_spec("binary"), 6)
    batch = flat._replace(image=torch.rand(6, 1, 4, 4, 4))
    step = step_of(model, algorithm)
    features, content, style = parts(step.pair.state_dict())
    assert changes(step, lambda: algorithm.update(step, batch)) == features | content | style


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
