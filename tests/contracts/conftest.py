import functools
import importlib.util
import sys
from pathlib import Path

import pytest

collect_ignore = ["harness.py", "standins.py"]
"""Loaded once, under their own names; collecting doctests would load them a second time."""


@pytest.fixture(scope="session")
def standins():
    """The module of stand-ins beside this file, under the name it has in other processes."""
    name = "standins"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def planned():
    """A packaged sweep and all its runs, expanded once for each set of changes."""
    from medldr.sweeps.plan.expand import expand
    from medldr.sweeps.plan.file import load_sweep

    @functools.cache
    def of(name, keys=()):
        sweep = load_sweep(name, list(keys))
        return sweep, expand(sweep, "out")

    return of
