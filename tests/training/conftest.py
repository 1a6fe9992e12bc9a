"""Tiny runs through the real stages: an outside dataset, network and algorithm."""

import contextlib
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

DEFAULTS = {
    "data": {"name": "tiny_lab.dataset"},
    "transform": {"name": "none"},
    "model": {"name": "tiny_lab.model"},
    "algorithm": {"name": "erm"},
    "training": {
        "epochs": 3,
        "batch_size": 5,
        "lr": 0.05,
        "drop_last": False,
        "precision": "float32",
    },
    "machine": {"device": "cpu", "threads": 1},
}


@pytest.fixture
def make_config():
    """A configuration from changes by dotted key: ``make_config({"training.epochs": 2})``."""
    from medldr.config import RunConfig

    def build(changes=None):
        values = {section: dict(keys) for section, keys in DEFAULTS.items()}
        for key, value in (changes or {}).items():
            section, _, name = key.partition(".")
            if name:
                values.setdefault(section, {})[name] = value
            else:
                values[section] = value
        if values["training"].get("steps"):
            del values["training"]["epochs"]
        return RunConfig.model_validate(values)

    return build


@pytest.fixture
def parts_of():
    """The stages before training, for a configuration."""

    def build(config):
        from medldr.algorithms import build_algorithm
        from medldr.data import build_data
        from medldr.models import build_model

        data = build_data(config)
        model = build_model(config.model, data.spec, seed=config.seed)
        algorithm = build_algorithm(config.algorithm, data.spec, model, seed=config.seed)
        return SimpleNamespace(data=data, model=model, algorithm=algorithm)

    return build


@pytest.fixture
def train(make_config, parts_of, tmp_path):
    """Train a tiny run in a folder below `tmp_path`; the same folder goes on with it."""
    from medldr.files import RunFolder
    from medldr.training import fit, make_fabric

    def run(changes=None, name="run", parts=None):
        config = make_config(changes)
        stages = parts or parts_of(config)
        folder = RunFolder(tmp_path / name)
        fabric = make_fabric(config.machine, config.training)
        fitted = fit(
            config,
            stages.data,
            stages.model,
            stages.algorithm,
            folder,
            fabric,
            show_progress=False,
        )
        return SimpleNamespace(fitted=fitted, folder=folder, **vars(stages))

    return run


@pytest.fixture
def rows_of():
    """Rows of a metrics file without the wall clock."""

    def read(folder):
        rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
        return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]

    return read


@pytest.fixture
def stop_after():
    """A context in which the trainer sees SIGTERM right after its `n`-th step."""
    from medldr.training.trainer import Trainer

    look_after = Trainer._look_after

    @contextlib.contextmanager
    def context(steps):
        made = 0

        def watched(self, watch):
            nonlocal made
            made += 1
            if made == steps:
                watch.received = 15
            look_after(self, watch)

        Trainer._look_after = watched
        try:
            yield
        finally:
            Trainer._look_after = look_after

    return context
