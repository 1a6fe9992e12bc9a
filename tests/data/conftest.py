"""Small tables with domains and groups, and runs over them, through an outside plug-in."""

import hashlib
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from medldr.config import RunConfig
from medldr.data import store
from medldr.datasets.base import DatasetConfig, ImageTable, LazyImages
from medldr.errors import InputError


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


class RawFiles(LazyImages):
    """Pixels from one raw file per row."""

    def __init__(self, folder, rows, shape):
        self.folder = folder
        self.shape = (rows, *shape)
        self.reads = 0

    @property
    def stamp(self):
        stats = [path.stat() for path in sorted(self.folder.glob("*.raw"))]
        text = str([(stat.st_size, stat.st_mtime_ns) for stat in stats])
        return hashlib.sha256(text.encode()).hexdigest()

    def __getitem__(self, rows):
        if isinstance(rows, int):
            self.reads += 1
            path = self.folder / f"{rows:03d}.raw"
            pixels = np.frombuffer(path.read_bytes(), np.uint8)
            if pixels.size != np.prod(self.shape[1:]):
                raise InputError(f"{path} is cut off")
            return pixels.reshape(self.shape[1:])
        return np.stack([self[int(row)] for row in np.arange(len(self))[rows]])


@pytest.fixture
def section(tmp_path, monkeypatch):
    """A `data` section of files that the next fixtures write."""

    class Config(DatasetConfig):
        variant: str = "plain"

    def require(config):
        if not any((Path(config.root) / "pixels").glob("*.raw")):
            raise InputError(f"{config.root} has no pixels. Put them there.")

    plugin = types.ModuleType("toys.files")
    plugin.Config, plugin.require = Config, require
    monkeypatch.setitem(sys.modules, "toys.files", plugin)
    return Config(name="toys.files", root=tmp_path)


@pytest.fixture
def lazy(make_table, section):
    """A table of ten pictures in files, which the data set's `load` makes again each time."""
    folder = section.root / "pixels"
    folder.mkdir()
    generator = np.random.default_rng(1)
    splits = ["train"] * 6 + ["val"] * 2 + ["test"] * 2
    table = make_table([0, 1] * 5, splits=splits, groups=[f"p,{n // 2}" for n in range(10)])
    for row in range(10):
        pixels = generator.integers(0, 256, (1, 4, 4), dtype=np.uint8)
        (folder / f"{row:03d}.raw").write_bytes(pixels.tobytes())
    table = replace(table, images=RawFiles(folder, 10, (1, 4, 4)), notes=("a note",))
    module = sys.modules[section.name]
    module.table = table
    module.load = lambda config: module.table
    return table


@pytest.fixture
def small_blocks(monkeypatch):
    """Packs are made of blocks of three images of 1 x 4 x 4."""
    monkeypatch.setattr("medldr.data.store.array.BLOCK_BYTES", 3 * 16)


@pytest.fixture
def make_pack():
    """Function that packs a table, and returns the pack's folder and what was done."""

    def make(table, section, folder=None, *, workers=0, console=None):
        folder = folder or store.usual_place(section, table.name)
        console = console or Console(quiet=True)
        made = store.make_pack(table, section, folder, workers=workers, console=console)
        return folder, made

    return make


@pytest.fixture
def assert_equal_tables():
    """Function that compares two tables, pixel by pixel and column by column."""

    def compare(one, other):
        for name in ("labels", "ids", "splits", "domains", "groups"):
            a, b = getattr(one, name), getattr(other, name)
            assert a.dtype.kind == b.dtype.kind
            np.testing.assert_array_equal(a, b)
        assert one.labels.dtype == other.labels.dtype
        np.testing.assert_array_equal(np.asarray(one.images[:]), np.asarray(other.images[:]))

    return compare
