"""What later stages know of a table: the specification of a run's data, and columns of numbers.

Two classes are a binary task with a positive class, whatever the dataset calls its labels. A
dataset that declares a binary task knows that its second class is the positive one. A folder tree
of two classes does not, so readers are told which class sensitivity and specificity refer to. The
table itself stays as the dataset declares it, because packs and hashes depend on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.bags import Bags
from medldr.data.image_table import ImageTable
from medldr.data.loading.loaders import Columns
from medldr.errors import InputError
from medldr.transforms import ImageShape, Pipeline, build_pipeline
from medldr.types import DataSpec, Task

# fmt: off
_NEGATIVE: Final = frozenset({
    "normal", "negative", "neg", "healthy", "control", "controls", "benign", "naevus", "nevus",
    "none", "absent", "0",
})
_NOT: Final = ("no", "non")
_ANYTHING: Final = ("finding", "findings")
"""What may follow "no" whatever the other class is called."""
# fmt: on


def specify(table: ImageTable, train: NDArray[np.int64], shape: ImageShape) -> DataSpec:
    """The specification of a run's data.

    Args:
        table: All images.
        train: Training rows, those that are really used.
        shape: Of the network's input, with all views of an item.
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
        channels=shape.channels // views_of(table),
        spatial_size=shape.spatial_size,
        domains=names_in(table.domains),
        train_domains=names_in(table.domains[train]),
        views=views_of(table),
        bags=isinstance(table.images, Bags),
    )


def views_of(table: ImageTable) -> int:
    """How many images of each item the network sees one by one."""
    return 1 if table.combined is None else table.combined.views


def input_pipeline(table: ImageTable, transform: Any) -> Pipeline:
    """From the stored pixels of a table to the network's input.

    Raises:
        InputError: If the transform does not suit these images.
    """
    if isinstance(table.images, Bags) and (
        transform.name != "none" or transform.train or transform.eval
    ):
        raise InputError(
            "transform: bags of latents are taken as they are stored. Set transform: none, without "
            "lists of transforms"
        )
    channels, *size = table.images.shape[1:]
    shape = ImageShape(channels, tuple(size))
    floating = table.images.dtype != np.uint8
    return build_pipeline(transform, shape, floating=floating, views=views_of(table))


def names_in(column: NDArray[np.str_]) -> tuple[str, ...]:
    """The names in a column, sorted, without the empty one.

    Example:
        >>> names_in(np.array(["b", "", "a", "b"]))
        ('a', 'b')
    """
    return tuple(name for name in np.unique(column).tolist() if name)


def columns(table: ImageTable, spec: DataSpec) -> Columns:
    """Labels, and numbers in place of names: -1 for a domain not trained on, and for no group."""
    import torch  # only a run needs it, not a table

    return Columns(
        label=torch.from_numpy(table.labels),
        domain=torch.from_numpy(_numbers(table.domains, spec.train_domains)),
        group=torch.from_numpy(_numbers(table.groups, names_in(table.groups))),
    )


def _numbers(column: NDArray[np.str_], names: Iterable[str]) -> NDArray[np.int64]:
    number = {name: n for n, name in enumerate(names)}
    return np.array([number.get(name, -1) for name in column.tolist()], dtype=np.int64)


def task_of(table: ImageTable) -> Task:
    """The task that a run on this table has.

    Example:
        >>> from types import SimpleNamespace as Table
        >>> task_of(Table(task="multi-class", class_names=("normal", "tumour")))
        'binary'
        >>> task_of(Table(task="multi-label", class_names=("nodule", "effusion")))
        'multi-label'
    """
    single_label = table.task != "multi-label"
    return "binary" if single_label and len(table.class_names) == 2 else table.task


def positive_class_notes(table: ImageTable, chosen: str | None) -> tuple[str, ...]:
    """Which class is the positive one, where the dataset does not know; else nothing.

    Args:
        table: The table, with the class names that are shown.
        chosen: Value of ``evaluation.positive_class``; None: the second class.

    Example:
        >>> from types import SimpleNamespace as Table
        >>> table = Table(name="mine", task="multi-class", class_names=("normal", "tumour"))
        >>> print(*positive_class_notes(table, None))
        mine: positive class: tumour (the second of normal, tumour); set evaluation.positive_class \
for the other
    """
    if table.task == "binary" or task_of(table) != "binary":
        return ()
    if chosen is not None:
        return (f"{table.name}: positive class: {chosen} (evaluation.positive_class)",)
    first, second = table.class_names
    where = f"{second} (the second of {first}, {second})"
    if not swapped(table.class_names):
        return (
            f"{table.name}: positive class: {where}; set evaluation.positive_class for the other",
        )
    return (
        f"{table.name}: CHECK THE POSITIVE CLASS: it is {where}, which reads like the negative "
        f"one, so sensitivity is that of {second}. If {first} is the finding, set "
        f"evaluation.positive_class={first}",
    )


def swapped(class_names: Sequence[str]) -> bool:
    """Whether the second of two classes reads like the negative one, and the first does not.

    Example:
        >>> swapped(["atypical", "normal"]), swapped(["abnormal", "tumour"])
        (True, False)
        >>> swapped(["Effusion", "NoFinding"]), swapped(["benign", "normal"])
        (True, False)
        >>> swapped(["melanoma", "naevus"]), swapped(["naevus", "normal"])
        (True, False)
        >>> swapped(["lesion", "no_lesion"]), swapped(["adenocarcinoma", "non_small_cell"])
        (True, False)
    """
    first, second = map(_words, class_names)
    return _reads_negative(second, first) and not _reads_negative(first, second)


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)]


def _reads_negative(words: Sequence[str], other: Sequence[str]) -> bool:
    """Whether a name is that of a negative class, or says that the other class is absent."""
    if not words or not _NEGATIVE.isdisjoint(words) or words[-1] in _NOT:
        return bool(words)
    return words[0] in _NOT and "".join(words[1:]) in (*_ANYTHING, "".join(other))
