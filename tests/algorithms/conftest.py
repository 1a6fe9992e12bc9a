import importlib.util
import sys
from pathlib import Path

import pytest

from medldr.config import RunConfig


@pytest.fixture(scope="session")
def standins():
    """The tiny models and data of the contract tests."""
    name = "standins"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "contracts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def run_config():
    """The configuration of a run on MedMNIST, with changes by section."""

    def make(**changes):
        plan = {
            "data": {"name": "medmnist", "flag": "bloodmnist"},
            "transform": {"name": "none"},
            "model": {"name": "resnet18"},
            "algorithm": {"name": "erm"},
        }
        for section, keys in changes.items():
            plan[section] = plan.get(section, {}) | keys
        return RunConfig.model_validate(plan)

    return make
