"""A complete, small configuration to change in tests, and a way to write files."""

import textwrap

import pytest

from medldr.config import load_config
from medldr.errors import InputError


@pytest.fixture
def whole():
    """All sections of a run, in the fewest words."""
    return {
        "data": {"name": "phantom_fracture"},
        "transform": {"name": "medmnist3d"},
        "model": {"name": "resnet18"},
        "algorithm": {"name": "erm"},
    }


@pytest.fixture
def write(tmp_path):
    """Write a YAML file below the test's folder."""

    def to(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return to


@pytest.fixture
def refusal():
    """The message with which a configuration is refused."""

    def of(source, *overrides):
        with pytest.raises(InputError) as caught:
            load_config(source, overrides)
        return str(caught.value)

    return of
