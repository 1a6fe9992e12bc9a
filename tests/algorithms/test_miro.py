"""MIRO beside its update, which `tests/fidelity` derives: above all, its copy never changes."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from medldr import plugins
from medldr.algorithms.miro import MIROConfig, channel_distance
from medldr.config.schema import TrainingConfig
from medldr.models import build_model
from medldr.training.optim import build_optimizers
from medldr.training.step import TrainStep
from medldr.types import DataSpec

START = -2.25227  # b whose softplus plus 1e-5 is 0.1


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(now, first, variance, channels=1):
    """The definition: every entry by itself, then the mean."""
    now, first = (np.moveaxis(t.detach().double().numpy(), channels, -1) for t in (now, first))
    v = variance.detach().double().numpy()
    return 0.5 * ((now - first) ** 2 / v + np.log(v)).mean()


@pytest.fixture
def build(standins):
    def make(task="multi-class", norm=False, double=False, moved=True, **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec, norm=norm)
        batch = standins.make_batch(spec)
        if double:
            model.double()
            batch = batch._replace(image=batch.image.double())
        algorithm = standins.make_algorithm("miro", spec, model, **keys).train()
        if moved:  # training has led the network away from its start
            with torch.no_grad():
                for number, p in enumerate(model.parameters()):
                    p += 0.1 * draw(*p.shape, seed=number)
        return model, algorithm, batch

    return make


def backward(model, algorithm, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, torch.cat([p.grad.flatten().double() for p in model.parameters()])


def whole(name, size=(8, 8), **keys):
    spec = DataSpec("binary", ("no", "yes"), (5, 5), 1, size, ("a", "b"), ("a", "b"))
    config = plugins.load("models", name).Config(name=name, **keys)
    return spec, build_model(config, spec, seed=0)


@pytest.mark.parametrize("shape", [(3, 4, 5, 6), (3, 4, 2, 3, 2), (3, 4)])
def test_the_distance_equals_the_definition(shape):
    now, first, variance = draw(*shape), draw(*shape, seed=1), draw(4, seed=2).exp()
    expected = reference(now, first, variance)
    assert channel_distance(now, first, variance).item() == pytest.approx(expected, rel=1e-12)


def test_tokens_have_their_channels_last():
    now, first, variance = draw(3, 7, 4), draw(3, 7, 4, seed=1), draw(4, seed=2).exp()
    expected = reference(now, first, variance, channels=2)
    assert channel_distance(now, first, variance).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32_also_under_autocast(dtype):
    now, first = ((300 + draw(4, 3, 5, 5, seed=s)).to(dtype) for s in range(2))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = channel_distance(now, first, torch.full((3,), 0.1))
    assert found.dtype == torch.float32
    expected = reference(now, first, torch.full((3,), 0.1))
    assert found.item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("points", "places"), [("stem_block", 5), ("block", 4)])
def test_at_the_start_each_place_is_half_ln_a_tenth_and_pulls_at_nothing(points, places, build):
    model, algorithm, batch = build(moved=False, double=True, points=points, weight=1.0)
    assert torch.cat([*algorithm.variances.values()]).unique().item() == pytest.approx(
        START, abs=1e-5
    )
    out, gradient = backward(model, algorithm, batch)
    assert out.logs["loss/miro"].item() == pytest.approx(-1.151293 * places, abs=1e-5)
    if points == "stem_block":
        assert out.logs["loss/miro"].item() == pytest.approx(-5.756463, abs=1e-6)
    original = algorithm.classification_loss(model(batch.image), batch.label)
    plain = torch.cat([g.flatten() for g in torch.autograd.grad(original, [*model.parameters()])])
    assert torch.equal(gradient, plain)
    for p in algorithm.variances.values():
        # d/db of half the mean of ln v, where v is 0.1
        expected = 0.5 / 0.1 * torch.sigmoid(torch.tensor(START)) / len(p)
        assert torch.allclose(p.grad, expected.double().expand(len(p)), rtol=1e-5)


def test_it_stays_bit_for_bit_and_in_eval_mode(build):
    model, algorithm, batch = build(norm=True)
    before = {k: v.clone() for k, v in algorithm.frozen.state_dict().items()}
    groups = algorithm.optimizers(model)["main"]
    optimizer = torch.optim.Adam([p for g in groups for p in g["params"]], lr=0.1)
    for _ in range(3):
        pair = TrainStep(model, algorithm).train()
        assert model.training
        assert model.norm.training
        assert not any(m.training for m in algorithm.frozen.modules())
        optimizer.zero_grad()
        pair(batch).loss.backward()
        optimizer.step()
    assert all(torch.equal(v, before[k]) for k, v in algorithm.frozen.state_dict().items())
    assert all(p.grad is None for p in algorithm.frozen.parameters())
    assert not torch.equal(model.norm.running_mean, algorithm.frozen.norm.running_mean)


def test_it_uses_its_first_statistics_and_no_dropout(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec, norm=True)
    model.norm = nn.Sequential(nn.BatchNorm2d(4), nn.Dropout(0.5))
    algorithm = standins.make_algorithm("miro", spec, model).train()
    batch = standins.make_batch(spec)
    with torch.no_grad():
        _, one = algorithm._watched(algorithm.frozen, batch.image)
        _, two = algorithm._watched(algorithm.frozen, batch.image)
        _, half = algorithm._watched(algorithm.frozen, batch.image[:5])
    for a, b, c in zip(one, two, half, strict=True):
        assert torch.equal(a, b)
        torch.testing.assert_close(a[:5], c)


def test_begin_copies_the_weights_that_training_starts_from(build):
    model, algorithm, batch = build(norm=True, weight=1.0)
    with torch.no_grad():
        model.norm.running_mean.fill_(0.3)
    assert not torch.equal(algorithm.frozen.head.weight, model.head.weight)
    algorithm.begin(model)
    for key, value in model.state_dict().items():
        assert torch.equal(algorithm.frozen.state_dict()[key], value)
    model.eval()
    assert algorithm.loss(model, batch).logs["loss/miro"].item() == pytest.approx(
        -5.756463, abs=1e-5
    )
    shared = {p.data_ptr() for p in model.parameters()}
    assert not any(p.data_ptr() in shared for p in algorithm.frozen.parameters())


def test_a_base_sees_the_first_weights_too(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    algorithm = standins.make_algorithm("latentdr", spec, model, base={"name": "miro"})
    other = standins.make_model(spec, seed=3)
    algorithm.begin(other)
    assert torch.equal(algorithm.base.frozen.head.weight, other.head.weight)
    out = algorithm.loss(model, standins.make_batch(spec))
    assert "loss/miro" in out.logs
    rates = {g.get("lr_scale") for g in algorithm.optimizers(model)["main"]}
    assert 10.0 in rates


def test_processes_need_not_share_it(build, standins):
    model, algorithm, _ = build(norm=True)
    pair = TrainStep(model, algorithm)
    ignored = set(pair._ddp_params_and_buffers_to_ignore)
    frozen = {k for k in pair.state_dict() if k.startswith("algorithm.frozen.")}
    assert ignored == frozen
    assert any("running_mean" in k for k in frozen)
    stacked = standins.make_algorithm("latentdr", algorithm.spec, model, base={"name": "miro"})
    pair = TrainStep(model, stacked)
    assert set(pair._ddp_params_and_buffers_to_ignore) <= set(pair.state_dict())
    assert len(pair._ddp_params_and_buffers_to_ignore) == len(frozen)


def test_no_map_is_kept_after_a_pass_and_lists_are_not_shared(build):
    model, algorithm, batch = build()
    _, one = algorithm._watched(model, batch.image)
    _, two = algorithm._watched(model, batch.image[:3])
    assert [len(v) for v in one] == [12] * 5
    assert [len(v) for v in two] == [3] * 5
    assert algorithm._seen == []
    with pytest.raises(RuntimeError):
        algorithm._watched(model, batch.image[:, :, 0])
    assert algorithm._seen == []
    model(batch.image)
    assert algorithm._seen == []


def test_a_resumed_copy_lies_in_memory_as_an_unbroken_one():
    spec, model = whole("resnet18", width=0.125)
    config = MIROConfig()
    algorithm = plugins.load("algorithms", "miro").ALGORITHM(config, spec, model)
    model.to_fast_memory()
    mine = [p.stride() for p in model.parameters()]
    assert [p.stride() for p in algorithm.frozen.parameters()] == mine
    algorithm.begin(model)
    assert [p.stride() for p in algorithm.frozen.parameters()] == mine


def test_a_network_that_shows_no_stage_is_named(build, monkeypatch):
    model, algorithm, batch = build()
    features = type(model).features
    monkeypatch.setattr(
        type(model), "features", lambda self, image, taps=None: features(self, image)
    )
    with pytest.raises(ValueError, match=r"TinyModel\.features gave MIRO 0 feature maps, not 5"):
        algorithm.loss(model, batch)


@pytest.mark.parametrize(
    ("name", "count"), [("resnet18", 1024), ("resnet50", 64 + 256 + 512 + 1024 + 2048)]
)
def test_there_is_one_variance_per_channel(name, count):
    spec, model = whole(name)
    algorithm = plugins.load("algorithms", "miro").ALGORITHM(MIROConfig(), spec, model)
    found = sum(p.numel() for p in algorithm.parameters() if p.requires_grad)
    assert found == count
    assert count in (1024, 3904)
    block = plugins.load("algorithms", "miro").ALGORITHM(MIROConfig(points="block"), spec, model)
    assert sum(p.numel() for p in block.parameters() if p.requires_grad) == count - 64


def test_variances_train_at_their_own_rate_and_decay_unless_told_not_to(build):
    training = TrainingConfig(optimizer="adam", lr=0.01, weight_decay=0.2)
    for keys, decay in (({}, 0.2), ({"decay_variances": False}, 0.0)):
        model, algorithm, _ = build(encoder_lr_scale=5.0, **keys)
        groups = build_optimizers(algorithm.optimizers(model), training)["main"].param_groups
        assert [g["lr"] for g in groups] == pytest.approx([0.01, 0.05])
        assert [g["weight_decay"] for g in groups] == [0.2, decay]
        assert {id(p) for p in groups[1]["params"]} == {
            id(p) for p in algorithm.variances.parameters()
        }
        assert {id(p) for p in groups[0]["params"]} == {id(p) for p in model.parameters()}


@pytest.mark.parametrize(
    ("model", "training", "warned"),
    [
        ({}, {}, True),
        ({"weights": "some.safetensors"}, {}, False),
        ({"pretrained": "ResNet18_Weights.IMAGENET1K_V1", "stem": "imagenet"}, {}, False),
        ({}, {"init_from": "runs/erm"}, False),
    ],
)
def test_random_first_weights_are_warned_of(model, training, warned, build, run_config):
    config = run_config(model=model, algorithm={"name": "miro"}, training=training)
    said = build()[1].check_run(config, processes=1, steps=9)
    assert bool(said) == warned
    assert not warned or "model.pretrained" in said[0]


def test_the_initial_variance_is_what_it_says():
    for wanted in (0.1, 1e-3, 2.5):
        b = math.log(math.expm1(wanted - 1e-5))
        spec, model = whole("resnet18", width=0.125)
        config = MIROConfig(initial_variance=wanted)
        algorithm = plugins.load("algorithms", "miro").ALGORITHM(config, spec, model)
        assert algorithm.variances["stem"][0].item() == pytest.approx(b, rel=1e-6)
        found = nn.functional.softplus(algorithm.variances["stem"].double()) + 1e-5
        assert found[0].item() == pytest.approx(wanted, rel=1e-5)
