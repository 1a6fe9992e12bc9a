"""Situations that broke other people's software, made by value: rows, files, signals, full disks.

Every test here meets medldr as its users do: the command, or a public function.
"""

import contextlib
import json
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from medldr.algorithms.erm import ERM
from medldr.folders.files import RunFolder

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)  # the outside dataset `case_lab.table` is found as a user's would be


@pytest.fixture
def rows():
    """Rows by value: ``rows(train="0011", val="01", test="01")``, each letter one label."""

    def of(domain="-", **splits):
        return [
            f"{split} {domain} - {label}" for split, labels in splits.items() for label in labels
        ]

    return of


@pytest.fixture
def write(tmp_path, rows):
    """Write the YAML file of a small run on given rows; further sections replace whole keys."""

    def make(given=None, name="case", **sections):
        given = given or rows(train="01010101", val="0101", test="0101")
        values = {
            "data": {"name": "case_lab.table", "rows": given},
            "transform": {"name": "none"},
            "model": {"name": "resnet18", "stem": "small", "width": 0.125},
            "algorithm": {"name": "erm"},
            "training": {"epochs": 2, "batch_size": 4, "lr": 0.01, "precision": "float32"},
            "evaluation": {"draws": 100},
            "machine": {"device": "cpu", "report": False},
        }
        for section, keys in sections.items():
            values[section] = {**values[section], **keys}
        path = tmp_path / f"{name}.yaml"
        with path.open("w") as file:
            YAML(typ="safe").dump(values, file)
        return path

    return make


@pytest.fixture
def out(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def the_run(out):
    """The one run folder there is."""

    def find():
        (folder,) = out.iterdir()
        return RunFolder(folder)

    return find


@pytest.fixture
def train(medldr, write, out):
    """Write a configuration and train it by the command; `words` are further arguments."""

    def run(*words, given=None, name="case", **sections):
        return medldr("train", write(given, name, **sections), *words, "--out", out)

    return run


@pytest.fixture
def history():
    """Rows of a run's `metrics.jsonl`, without the wall clock."""

    def read(folder):
        found = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
        return [{k: v for k, v in row.items() if k != "time_s"} for row in found]

    return read


@pytest.fixture
def disturb(monkeypatch):
    """Have something happen at the n-th batch (from 0) from now on, once.

    The action gets the batch; what it returns, if anything, is trained on instead.
    """
    loss = ERM.loss
    plan = {}

    def disturbed(self, model, batch):
        plan["batch"] += 1
        action = plan.pop("action") if plan["batch"] == plan["at"] + 1 else None
        changed = action(batch) if action else None
        return loss(self, model, changed or batch)

    def arm(at, action):
        plan.update(batch=0, at=at, action=action)
        monkeypatch.setattr(ERM, "loss", disturbed)

    return arm


@pytest.fixture
def full_disk():
    """Files may not grow beyond so many bytes, from the call of `fill` on and within the block."""

    @contextlib.contextmanager
    def block():
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return block


@pytest.fixture
def medmnist_file(tmp_path):
    """Write a file in MedMNIST's format into a folder, which is returned."""

    def make(name, classes, *, channels=1, labels=1, size=28, counts=(12, 6, 6), **changed):
        random = np.random.default_rng(1)
        arrays = {}
        for split, n in zip(("train", "val", "test"), counts, strict=True):
            shape = (n, size, size, 3) if channels == 3 else (n, size, size)
            arrays[f"{split}_images"] = random.integers(0, 256, shape, dtype=np.uint8)
            arrays[f"{split}_labels"] = (
                random.integers(0, 2, (n, labels), dtype=np.uint8)
                if labels > 1
                else (np.arange(n) % classes).astype(np.uint8)[:, None]
            )
        for key, change in changed.items():
            arrays[key] = change(arrays[key])
        root = tmp_path / "medmnist"
        root.mkdir(exist_ok=True)
        np.savez(root / f"{name}.npz", **arrays)
        return root

    return make
