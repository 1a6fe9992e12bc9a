"""Small networks for the tests of this folder."""

import pytest

from medldr import plugins
from medldr.models import build_model
from medldr.types import DataSpec


@pytest.fixture
def spec_of():
    """`spec_of(channels, classes, *size)`: what a network must fit."""

    def make(channels, classes, *size):
        names = tuple(f"class {i}" for i in range(classes))
        return DataSpec("multi-class", names, (1,) * classes, channels, size)

    return make


@pytest.fixture
def build(spec_of):
    """`build(name, channels, classes, size, **keys)`: a network with the seed 0 or ``seed``."""

    def make(name, channels, classes, size, *, seed=0, **keys):
        config = plugins.load("models", name).Config(name=name, **keys)
        return build_model(config, spec_of(channels, classes, *size), seed)

    return make
