"""`model.dropout`: one mechanism behind every network, as DomainBed has it."""

import sys
import types

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from medldr.config import load_config
from medldr.errors import InputError
from medldr.models import build_model
from medldr.models.base import FeatureModel, ModelConfig

TINY = {"width": 0.125}


@pytest.mark.parametrize("value", [-0.1, 1.0, float("nan")])
def test_a_probability_below_one_is_asked_for(value):
    with pytest.raises(ValidationError, match="dropout"):
        ModelConfig(name="resnet18", dropout=value)


@pytest.mark.parametrize("name", ["erm", "coral", "latentdr", "sagnet", "mixup"])
def test_methods_see_what_is_left_of_the_latents(build, method, name):
    model = build("resnet18", 1, 4, (8, 8), dropout=0.5, **TINY).train()
    latents = model.latents
    model.latents = lambda *given: latents(*given) + 1  # no zero before dropout
    algorithm, batch = method(name, model)
    torch.manual_seed(0)
    out = algorithm.loss(model, batch)
    assert 0.4 < (out.z == 0).float().mean() < 0.6
    if name != "sagnet":  # which classifies further latents, made of these
        torch.testing.assert_close(out.logits, model.classify(out.z))
    with torch.no_grad():
        assert (model.eval().features(batch.image) >= 1).all()


class Own(FeatureModel):
    """An outside network from before the mechanism."""

    def features(self, image, taps=None):
        return image.mean((2, 3))


class Deaf(FeatureModel):
    """An outside network that keeps its configuration to itself."""

    def latents(self, image, taps=None):
        return image.mean((2, 3))


@pytest.mark.parametrize(
    ("network", "reason"), [(Own, "overrides `features`"), (Deaf, "does not pass its Config")]
)
def test_an_outside_network_that_would_leave_it_out_is_refused(
    spec_of, monkeypatch, network, reason
):
    outside = types.ModuleType("mylab.net")
    outside.build = lambda config, spec: network(stage_dims=(1,), dim=1, num_classes=2)
    monkeypatch.setitem(sys.modules, "mylab", types.ModuleType("mylab"))
    monkeypatch.setitem(sys.modules, "mylab.net", outside)
    with pytest.raises(InputError, match=rf"model\.dropout: .*mylab\.net.*{reason}"):
        build_model(ModelConfig(name="mylab.net", dropout=0.1), spec_of(1, 2, 8, 8), 0)
    model = build_model(ModelConfig(name="mylab.net"), spec_of(1, 2, 8, 8), 0)
    assert isinstance(model.head, nn.Linear)


def test_domainbed_s_protocols_pin_none():
    config = load_config("pacs_erm")
    assert config.model.dropout == 0
    assert not config.protocol.endswith("+modified")
    assert load_config("pacs_erm", ["model.dropout=0.1"]).protocol == f"{config.protocol}+modified"
