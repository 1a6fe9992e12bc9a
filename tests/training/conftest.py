"""Tiny runs through the real stages; their outside plug-ins stand in `tiny_lab`."""

import importlib
import sys
from pathlib import Path

import pytest

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    # Outside plug-ins are found on the path, as a user's would be; so are they in processes
    # that a test spawns.
    sys.path.insert(0, HERE)


@pytest.fixture
def runs():
    """The module `tiny_lab.runs`."""
    return importlib.import_module("tiny_lab.runs")


@pytest.fixture
def make_config(runs):
    """A configuration from changes by dotted key."""
    return runs.make_config


@pytest.fixture
def parts_of(runs):
    """The stages before training, for a configuration."""
    return runs.parts_of


@pytest.fixture
def train(runs, tmp_path):
    """Train a tiny run in a folder below `tmp_path`; the same name resumes it."""

    def run(changes=None, name="run", parts=None):
        return runs.train(changes, tmp_path / name, parts)

    return run


@pytest.fixture
def rows_of(runs):
    """Rows of a metrics file without the wall clock."""
    return runs.rows_of


@pytest.fixture
def stop_after(runs):
    """A context in which the trainer sees SIGTERM right after its `n`-th step."""
    return runs.stop_after
