import importlib.util
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def _load(name, path):
    """A module under a name of its own, once; the tests here import it by that name."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)


_load("standins", HERE.parent / "contracts" / "standins.py")
_load("fidelity_reference", HERE / "reference.py")
_load("fidelity", HERE / "harness.py")
_load("fidelity_adversarial", HERE / "adversarial.py")

collect_ignore = ["adversarial.py", "harness.py", "reference.py"]


@pytest.fixture(params=["sgd", "adam"])
def optimizer(request):
    """The optimizer of a training, each with the decay of weights in the gradient."""
    return request.param
