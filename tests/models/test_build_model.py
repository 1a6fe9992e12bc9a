"""Building a network from its configuration."""

import sys
import types

import pytest
import torch

from medldr.errors import InputError
from medldr.models import build_model
from medldr.models.base import ModelConfig


def test_the_seed_alone_decides_the_weights(build):
    torch.manual_seed(1)
    first = build("resnet18", 3, 2, (8, 8), width=0.125, seed=3).state_dict()
    torch.manual_seed(2)
    again = build("resnet18", 3, 2, (8, 8), width=0.125, seed=3).state_dict()
    other = build("resnet18", 3, 2, (8, 8), width=0.125, seed=4).state_dict()
    assert all(torch.equal(first[k], again[k]) for k in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_the_callers_random_state_is_left_alone(build):
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    build("resnet18", 3, 2, (8, 8, 8), width=0.125)
    assert torch.equal(torch.rand(1), expected)


def test_a_2d_only_network_refuses_volumes(spec_of, monkeypatch):
    flat = types.ModuleType("mylab.flat")
    flat.SPATIAL_DIMS, flat.Config = (2,), ModelConfig
    monkeypatch.setitem(sys.modules, "mylab", types.ModuleType("mylab"))
    monkeypatch.setitem(sys.modules, "mylab.flat", flat)
    with pytest.raises(InputError, match=r"mylab.flat is for 2D images.*3D.*resnet18"):
        build_model(ModelConfig(name="mylab.flat"), spec_of(1, 2, 8, 8, 8), 0)


def test_an_unknown_network_names_the_nearest(spec_of):
    with pytest.raises(InputError, match="Did you mean 'resnet18'"):
        build_model(ModelConfig(name="resnet19"), spec_of(1, 2, 8, 8), 0)


def test_initial_weights_follow_he_also_in_the_small_stem(build):
    kernel = build("resnet18", 3, 2, (8, 8)).network.conv1.weight
    assert kernel.std().item() == pytest.approx((2 / (9 * 64)) ** 0.5, rel=0.05)
