"""Small networks for the tests of this folder."""

import dataclasses
import http.server
import threading

import pytest
import torch

from medldr import plugins
from medldr.algorithms import build_algorithm
from medldr.models import build_model
from medldr.types import Batch, DataSpec


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


@pytest.fixture
def method():
    """`method(name, model, **keys)`: an algorithm in training mode, and grey 8-pixel images."""

    def make(name, model, **keys):
        names = tuple(f"class {i}" for i in range(model.num_classes))
        places = ("north", "south", "west")
        spec = DataSpec("multi-class", names, (3,) * len(names), 1, (8, 8), places, places)
        config = plugins.load("algorithms", name).Config(name=name, **keys)
        row = torch.arange(12)
        image = torch.randn(12, 1, 8, 8, generator=torch.Generator().manual_seed(0))
        batch = Batch(image, row % model.num_classes, row % 3, row, row)
        return build_algorithm(config, spec, model, 0).train(), batch

    return make


@pytest.fixture
def served(tmp_path):
    """A folder and its address: what is there is sent by a server on this machine."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(folder))

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def published(monkeypatch):
    """`published(member, url)`: torchvision's weights are to be had at another address."""

    def move(member, url):
        monkeypatch.setattr(member, "_value_", dataclasses.replace(member.value, url=url))

    return move
