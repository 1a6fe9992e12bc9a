"""Tiny runs through the real stages, from changes by dotted key; also in other processes."""

import contextlib
import json
from pathlib import Path
from types import SimpleNamespace

from medldr.algorithms import build_algorithm
from medldr.config import RunConfig
from medldr.data import build_data
from medldr.folders.files import RunFolder
from medldr.models import build_model
from medldr.training import fit, make_fabric
from medldr.training.trainer import Trainer

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


def make_config(changes=None):
    """A configuration: ``make_config({"training.epochs": 2, "seed": 1})``."""
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


def parts_of(config):
    """The stages before training."""
    data = build_data(config)
    model = build_model(config.model, data.spec, seed=config.seed)
    algorithm = build_algorithm(config.algorithm, data.spec, model, seed=config.seed)
    return SimpleNamespace(data=data, model=model, algorithm=algorithm)


def train(changes, path, parts=None, fabric=None):
    """Train in a folder; the same folder resumes it."""
    config = make_config(changes)
    stages = parts or parts_of(config)
    folder = RunFolder(Path(path))
    fabric = fabric or make_fabric(config.machine, config.training)
    fitted = fit(
        config, stages.data, stages.model, stages.algorithm, folder, fabric, show_progress=False
    )
    return SimpleNamespace(fitted=fitted, folder=folder, config=config, **vars(stages))


def rows_of(folder):
    """Rows of a metrics file without the wall clock."""
    rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]


@contextlib.contextmanager
def stop_after(steps):
    """Within it, this process sees SIGTERM right after its ``steps``-th step."""
    look_after = Trainer.look_after
    made = 0

    def watched(self, watch):
        nonlocal made
        made += 1
        if made == steps:
            watch.received = 15
        look_after(self, watch)

    Trainer.look_after = watched
    try:
        yield
    finally:
        Trainer.look_after = look_after
