import copy

import pytest
import torch

from medldr.algorithms import build_algorithm
from medldr.config import PluginSection
from medldr.errors import InputError


def test_methods_under_one_seed_start_from_the_same_model(standins):
    spec = standins.make_spec()
    states = []
    for name in ("erm", "latentdr"):
        torch.manual_seed(11)
        model = standins.make_model(spec)
        before = copy.deepcopy(model.state_dict())
        standins.make_algorithm(name, spec, model)
        assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
        states.append((model.state_dict(), torch.rand(3)))
    assert all(torch.equal(v, states[1][0][k]) for k, v in states[0][0].items())
    assert torch.equal(states[0][1], states[1][1])  # and the global generator has the same state


def test_data_without_domains_are_refused_by_a_method_that_needs_them(standins):
    spec = standins.make_spec(domains=False)
    with pytest.raises(InputError, match="needs the domain of every"):
        standins.make_algorithm("two losses, two optimizers", spec, standins.make_model(spec))


def test_an_unknown_name_gets_the_nearest(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="Did you mean 'latentdr'"):
        build_algorithm(PluginSection(name="latentrd"), spec, standins.make_model(spec), 0)


def test_a_config_of_another_kind_is_refused(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="its Config should be a subclass"):
        build_algorithm(PluginSection(name="erm"), spec, standins.make_model(spec), 0)
