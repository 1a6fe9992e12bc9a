"""What every network must do, in 2D and 3D, whatever its file says."""

import pytest
import torch

from medldr import plugins
from medldr.errors import InputError
from medldr.models import build_model
from medldr.models.base import STAGES
from medldr.types import DataSpec

NAMES = plugins.names("models")


def small(name, axes, **keys):
    module = plugins.load("models", name)
    if axes not in getattr(module, "SPATIAL_DIMS", (2, 3)):
        pytest.skip(f"{name} is not for {axes}D images")
    keys = {**plugins.facts("models", name).get("CONTRACT_KEYS", {}), **keys}
    spec = DataSpec("multi-class", ("a", "b", "c"), (1, 1, 1), 1, (8,) * axes)
    config = module.Config(name=name, **keys)
    return build_model(config, spec, seed=0).to_fast_memory()


def images(axes, count=4):
    return torch.rand(count, 1, *(8,) * axes, generator=torch.Generator().manual_seed(0))


pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.parametrize("axes", [2, 3])]


def test_latents_logits_and_stages_have_the_shapes_promised(name, axes):
    model = small(name, axes)
    seen = {}

    def tap(stage):
        return lambda value: seen.setdefault(stage, value)

    z = model.features(images(axes), {stage: tap(stage) for stage in model.stages})
    assert z.shape == (4, model.dim)
    assert z.dtype == torch.float32
    assert model.classify(z).shape == (4, model.num_classes) == (4, 3)
    assert tuple(seen) == model.stages
    assert tuple(name for name in STAGES if name in model.stages) == model.stages
    assert {"stage1", "stage2", "stage3"} <= set(model.stages)
    assert tuple(v.shape[1] for v in seen.values()) == model.stage_dims
    assert all(v.ndim == 2 + axes and v.shape[0] == 4 for v in seen.values())


def test_what_a_tap_returns_is_what_goes_on(name, axes):
    model = small(name, axes).eval()
    for stage in set(STAGES) - set(model.stages):
        with pytest.raises(InputError, match=rf"no stage '{stage}'.*Its stages: .*stage3"):
            model.require_stages([stage], "algorithm.stages")
    with torch.inference_mode():
        plain = model.features(images(axes))
        for stage in model.stages:
            assert torch.equal(plain, model.features(images(axes), {stage: torch.nn.Identity()}))
            zero = [model.features(images(axes) + n, {stage: torch.zeros_like}) for n in (0, 1)]
            assert torch.equal(*zero)
            assert not torch.equal(plain, zero[0])


def test_every_parameter_gets_a_finite_gradient(name, axes):
    model = small(name, axes)
    torch.nn.functional.cross_entropy(model(images(axes)), torch.tensor([0, 1, 2, 0])).backward()
    for key, parameter in model.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key
    assert sum(bool(p.grad.abs().sum() > 0) for p in model.parameters()) > 1


def test_in_eval_mode_an_image_does_not_feel_its_neighbours(name, axes):
    model = small(name, axes)
    model(images(axes))
    model.eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    with torch.inference_mode():
        together = model(images(axes, 8))
        for row in range(8):
            alone = model(images(axes, 8)[row : row + 1])[0]
            torch.testing.assert_close(alone, together[row], rtol=1e-5, atol=1e-6)
        assert torch.equal(model(images(axes, 8)), together)
    assert all(torch.equal(before[k], v) for k, v in model.state_dict().items())


def test_autocast_leaves_latents_and_logits_in_float32(name, axes):
    model = small(name, axes).eval()
    with torch.inference_mode():
        exact = model.features(images(axes))
        with torch.autocast("cpu", torch.bfloat16):
            z = model.features(images(axes))
            logits = model.classify(z)
    assert z.dtype == logits.dtype == torch.float32
    torch.testing.assert_close(z, exact, rtol=0.1, atol=0.1 * exact.abs().max().item())
    assert not torch.equal(z, exact)


def test_a_cosine_head_depends_on_direction_only(name, axes):
    model = small(name, axes, head="cosine", cosine_scale=30.0)
    z = torch.randn(2, model.dim)
    torch.testing.assert_close(model.classify(z), model.classify(5 * z))
    assert model.head.scale == 30
    assert 0 < model.classify(z).abs().max() <= 30
    assert [key for key in model.state_dict() if key.startswith("head.")] == ["head.weight"]
    assert model(images(axes)).shape == (4, 3)


def test_dropout_acts_on_latents_while_training_and_nowhere_else(name, axes):
    model = small(name, axes, dropout=0.5)
    whole = model.latents(images(axes))
    torch.manual_seed(1)
    z = model.features(images(axes))
    kept = torch.where(z == 0, 0.0, whole / 0.5)
    torch.testing.assert_close(z, kept)
    gaps = ((z == 0) & (whole != 0)).sum() / (whole != 0).sum()
    assert 0.2 < gaps < 0.8
    torch.manual_seed(1)
    assert torch.equal(model.features(images(axes)), z)  # the run's generator decides
    assert not torch.equal(model.features(images(axes)), z)
    model.eval()
    with torch.inference_mode():
        assert torch.equal(model.features(images(axes)), model.latents(images(axes)))


def test_without_dropout_nothing_is_drawn(name, axes):
    model = small(name, axes)
    before = torch.get_rng_state()
    whole = model.latents(images(axes))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(model.features(images(axes)), whole)
    assert torch.equal(torch.get_rng_state(), before)


def test_fast_memory_changes_no_value(name, axes):
    model = small(name, axes).eval()
    plain = small(name, axes).eval()
    plain.load_state_dict({k: v.contiguous() for k, v in model.state_dict().items()})
    last = images(axes).contiguous(memory_format=model.memory_format)
    with torch.inference_mode():
        torch.testing.assert_close(plain(images(axes)), model(last), rtol=1e-5, atol=1e-6)
