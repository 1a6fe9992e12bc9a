"""Small tables with domains and groups, and runs over them, through an outside plug-in."""

import sys
import types
from dataclasses import replace

import numpy as np
import pytest

from medldr.config import RunConfig
from medldr.datasets.base import DatasetConfig, ImageTable


def text(values):
    return np.array(values, dtype=np.str_)


@pytest.fixture
def make_table():
    """Function that makes a table from its labels; every image is different."""

    def make(labels, *, splits=None, domains=None, groups=None, classes=None, **changes):
        labels = np.asarray(labels)
        rows = len(labels)
        multi_label = labels.ndim == 2
        classes = classes or (labels.shape[1] if multi_label else int(labels.max()) + 1)
        generator = np.random.default_rng(0)
        table = ImageTable(
            name="toy",
            task="multi-label" if multi_label else "multi-class",
            class_names=tuple("abcdefghij"[:classes]),
            images=generator.integers(0, 256, (rows, 1, 4, 4), dtype=np.uint8),
            labels=labels.astype(np.float32 if multi_label else np.int64),
            ids=text([f"item_{n}" for n in range(rows)]),
            splits=text([""] * rows if splits is None else splits),
            domains=text([""] * rows if domains is None else domains),
            groups=text([""] * rows if groups is None else groups),
        )
        return replace(table, **changes)

    return make


@pytest.fixture
def make_run(monkeypatch):
    """Function that makes the configuration of a run over a given table."""

    def make(table, *, data=None, transform="none", training=None, **sections):
        plugin = types.ModuleType("toys.cells")
        plugin.Config = DatasetConfig
        plugin.load = lambda config: table
        monkeypatch.setitem(sys.modules, "toys.cells", plugin)
        return RunConfig.model_validate(
            {
                "data": {"name": "toys.cells", **(data or {})},
                "transform": transform,
                "model": {"name": "resnet18", "width": 0.125},
                "algorithm": "erm",
                "training": training or {},
                **sections,
            }
        )

    return make
