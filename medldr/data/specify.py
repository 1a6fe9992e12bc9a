"""What later stages know of a table: a specification, and columns of numbers in place of names."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable
from medldr.data.loading.loaders import Columns
from medldr.data.two_classes import task_of
from medldr.transforms import ImageShape
from medldr.types import DataSpec


def specify(table: ImageTable, train: NDArray[np.int64], shape: ImageShape) -> DataSpec:
    """The specification of a run's data.

    Args:
        table: All images.
        train: Training rows, those that are really used.
        shape: Of the network's input.
    """
    labels = table.labels[train]
    if labels.ndim == 2:
        counts = np.nansum(labels, axis=0).astype(np.int64)
    else:
        counts = np.bincount(labels.astype(np.int64), minlength=len(table.class_names))
    return DataSpec(
        task=task_of(table),
        class_names=table.class_names,
        class_counts=tuple(int(n) for n in counts),
        channels=shape.channels,
        spatial_size=shape.spatial_size,
        domains=names_in(table.domains),
        train_domains=names_in(table.domains[train]),
    )


def names_in(column: NDArray[np.str_]) -> tuple[str, ...]:
    """The names in a column, sorted, without the empty one.

    Example:
        >>> names_in(np.array(["b", "", "a", "b"]))
        ('a', 'b')
    """
    return tuple(name for name in np.unique(column).tolist() if name)


def columns(table: ImageTable, spec: DataSpec) -> Columns:
    """Labels, and numbers in place of names: -1 for a domain not trained on, and for no group."""
    return Columns(
        label=torch.from_numpy(table.labels),
        domain=torch.from_numpy(_numbers(table.domains, spec.train_domains)),
        group=torch.from_numpy(_numbers(table.groups, names_in(table.groups))),
    )


def _numbers(column: NDArray[np.str_], names: Iterable[str]) -> NDArray[np.int64]:
    number = {name: n for n, name in enumerate(names)}
    return np.array([number.get(name, -1) for name in column.tolist()], dtype=np.int64)
