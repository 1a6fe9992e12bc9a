"""An outside dataset: 8-pixel pictures whose brightness is the class, often already split."""

from typing import Literal

import numpy as np

from medldr.datasets.base import DatasetConfig, ImageTable


class Config(DatasetConfig):
    name: Literal["tiny_lab.dataset"] = "tiny_lab.dataset"
    train: int = 23
    val: int = 10
    test: int = 7
    classes: int = 3
    kind: Literal["val", "id_val", "both", "none"] = "val"
    own_splits: bool = True
    sites: int = 2
    ordinal: bool = False


def load(config: Config) -> ImageTable:
    sizes = {"train": config.train, "val": config.val, "id_val": config.val, "test": config.test}
    left_out = {"val": ["id_val"], "id_val": ["val"], "both": [], "none": ["val", "id_val"]}
    for split in left_out[config.kind]:
        sizes[split] = 0
    splits = np.repeat(list(sizes), list(sizes.values()))
    rows = len(splits)
    random = np.random.default_rng(5)
    labels = np.arange(rows) % config.classes
    noise = random.integers(0, 120, (rows, 1, 8, 8))
    task = "multi-class" if config.classes > 2 else "binary"
    return ImageTable(
        name="tiny",
        task="ordinal" if config.ordinal else task,
        class_names=tuple("abcdefgh"[: config.classes]),
        images=(noise + 40 * labels[:, None, None, None]).astype(np.uint8),
        labels=labels.astype(np.int64),
        ids=np.array([f"img{row:03d}" for row in range(rows)]),
        splits=splits.astype(str) if config.own_splits else np.full(rows, "", dtype="<U1"),
        domains=np.array(
            [f"site{row % config.sites}" if config.sites else "" for row in range(rows)]
        ),
        groups=np.full(rows, "", dtype="<U1"),
    )
