import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from medldr.algorithms._mixing import Pairs
from medldr.algorithms.manifold_mixup import ManifoldMixupConfig
from medldr.config import load_part
from medldr.models.base import STAGES, FeatureModel

PARTNER = torch.tensor([3, 0, 5, 1, 4, 7, 2, 6])
PLACES = ("input", *STAGES)


class LinearModel(FeatureModel):
    """A network without any non-linearity; remembers what each stage got."""

    def __init__(self, spec):
        super().__init__(stage_dims=(3,) * 5, dim=3, num_classes=spec.num_classes)
        conv = nn.Conv2d if spec.spatial_dims == 2 else nn.Conv3d
        self.blocks = nn.ModuleList(
            conv(spec.channels if stage == "stem" else 3, 3, 3, padding=1) for stage in STAGES
        )
        self.inputs = {}

    def features(self, image, taps=None):
        x = image
        for stage, block in zip(STAGES, self.blocks, strict=True):
            self.inputs[stage] = x
            x = self.tap(stage, block(x), taps)
        return x.flatten(2).mean(2)


@pytest.fixture
def build(standins):
    def make(model_class=None, dims=2, **keys):
        spec = standins.make_spec()
        batch = standins.make_batch(spec, 8)
        if dims == 3:
            spec = replace(spec, spatial_size=(4, 5, 6))
            generator = torch.Generator().manual_seed(4)
            batch = batch._replace(image=torch.randn(8, 1, 4, 5, 6, generator=generator))
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = (model_class or standins.TinyModel)(spec)
        algorithm = standins.make_algorithm("manifold_mixup", spec, model, **keys)
        return model, algorithm, batch

    return make


def at(algorithm, stage, share):
    """Have the method mix here, by this much."""
    pairs = Pairs(torch.tensor(share, dtype=torch.float64), PARTNER)
    algorithm.draw = lambda rows: pairs
    algorithm.draw_stage = lambda: stage
    return algorithm


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("stage", PLACES)
def test_share_0_is_the_plain_network_on_the_partners_wherever_it_mixes(stage, dims, build):
    model, algorithm, batch = build(dims=dims, stages=PLACES)
    out = at(algorithm, stage, 0.0).loss(model, batch)
    plain = model(batch.image)
    torch.testing.assert_close(out.logits, plain[PARTNER])
    assert not torch.allclose(out.logits, plain)
    expected = nn.functional.cross_entropy(plain[PARTNER], batch.label[PARTNER])
    torch.testing.assert_close(out.loss, expected)


@pytest.mark.parametrize("dims", [2, 3])
def test_in_a_linear_network_the_place_makes_no_difference(dims, build):
    model, algorithm, batch = build(LinearModel, dims, stages=PLACES)
    logits = [at(algorithm, stage, 0.3).loss(model, batch).logits for stage in PLACES]
    plain = model(batch.image)
    expected = 0.3 * plain.double() + 0.7 * plain.double()[PARTNER]
    for found in logits:
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(logits[0], plain)


@pytest.mark.parametrize("place", range(len(STAGES)))
def test_what_follows_the_place_gets_the_blend_and_what_precedes_it_does_not(place, build):
    # The blended image must be what the first convolution sees.
    model, algorithm, batch = build(LinearModel, stages=PLACES)
    model(batch.image)
    plain = {stage: value.detach().clone() for stage, value in model.inputs.items()}
    at(algorithm, PLACES[place], 0.3).loss(model, batch)
    for number, stage in enumerate(STAGES):
        expected = plain[stage].double().numpy()
        if number >= place:
            expected = 0.3 * expected + 0.7 * expected[PARTNER]
        found = model.inputs[stage].detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=stage)


def test_with_the_input_alone_it_is_mixup(build, standins):
    model, algorithm, batch = build(stages=["input"])
    mixup = standins.make_algorithm("mixup", algorithm.spec, model)
    pairs = algorithm.draw(8)
    algorithm.draw = mixup.draw = lambda rows: pairs
    assert torch.equal(algorithm.loss(model, batch).loss, mixup.loss(model, batch).loss)


def test_maps_keep_their_dtype_under_autocast(build):
    model, algorithm, batch = build(LinearModel, stages=PLACES)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for stage in STAGES[:-1]:
            out = at(algorithm, stage, 0.3).loss(model, batch)
            following = model.inputs[STAGES[STAGES.index(stage) + 1]]
            assert following.dtype == torch.bfloat16
            assert out.loss.dtype == torch.float32


def test_taps_are_made_once_and_hold_nothing_between_steps(build):
    model, algorithm, batch = build()
    taps = dict(algorithm._taps)
    for stage in ("stage1", "stage2"):
        at(algorithm, stage, 0.3).loss(model, batch)
        assert algorithm._pairs is None
        assert algorithm._taps[stage] is taps[stage]
        with pytest.raises(ValueError, match="outside its forward pass"):
            model.features(batch.image, taps[stage])
    with pytest.raises(RuntimeError):
        at(algorithm, "stage1", 0.3).loss(model, batch._replace(image=torch.zeros(8, 9, 2, 2)))
    assert algorithm._pairs is None


def test_a_copy_mixes_by_itself(build):
    model, algorithm, batch = build(stages=["stage1"])
    other = copy.deepcopy(algorithm)
    for one in (algorithm, other):
        torch.manual_seed(2)
        out = one.loss(model, batch)
        assert 0 < out.logs["lambda"] < 1
    torch.manual_seed(2)
    assert torch.equal(algorithm.loss(model, batch).loss, out.loss)


def test_places_must_be_known_named_once_and_at_least_one(build):
    for stages, message in (
        ([], "at least 1"),
        (["input", "stage1", "input"], "each place may appear only once, but input is repeated"),
        (["layer1"], "'input', 'stem', 'stage1'"),
    ):
        with pytest.raises(ValueError, match=message):
            build(stages=stages)


def test_the_part_states_the_defaults_of_the_papers_row():
    part = load_part("algorithm", "manifold_mixup")["algorithm"]
    assert part == {
        "name": "manifold_mixup",
        "lr_scale": 1.0,
        "alpha": 0.2,
        "stages": ["input", "stage1", "stage2"],
    }
    assert ManifoldMixupConfig(**part) == ManifoldMixupConfig()
