"""An outside dataset whose rows stand in the configuration: ``split domain group label``.

A dash means none; several labels are written ``1,0,?``. Brightness determines the class.
"""

from typing import Literal

import numpy as np

from medldr.datasets.base import DatasetConfig, ImageTable
from medldr.types import Task


class Config(DatasetConfig):
    name: Literal["case_lab.table"] = "case_lab.table"
    task: Task = "multi-class"
    classes: tuple[str, ...] = ("a", "b")
    rows: tuple[str, ...]
    equal: bool = False
    spoilt: str = ""
    """A domain whose pictures are noise."""


def load(config: Config) -> ImageTable:
    table = np.array([row.split() for row in config.rows], dtype=np.str_).reshape(-1, 4)
    split, domain, group = (np.where(column == "-", "", column) for column in table.T[:3])
    if config.task == "multi-label":
        parts = [text.split(",") for text in table[:, 3]]
        labels = np.array([[np.nan if v == "?" else float(v) for v in p] for p in parts], "f4")
        shade = np.nansum(labels, axis=1).astype(int)
    else:
        labels = shade = table[:, 3].astype(np.int64)
    random = np.random.default_rng(5)
    images = random.integers(0, 60, (len(table), 1, 8, 8)) + 60 * shade[:, None, None, None]
    spoilt = domain == config.spoilt if config.spoilt else np.zeros(len(table), bool)
    images[spoilt] = random.integers(0, 255, (spoilt.sum(), 1, 8, 8))
    if config.equal:
        images[:] = 100
    two = len(config.classes) == 2
    return ImageTable(
        name="cases",
        task="binary" if two and config.task == "multi-class" else config.task,
        class_names=config.classes,
        images=images.astype(np.uint8),
        labels=labels,
        ids=np.array([f"item{row:02d}" for row in range(len(table))], dtype=np.str_),
        splits=split,
        domains=domain,
        groups=group,
    )


def present(config: Config) -> str:
    return "in the configuration"
