"""What a dataset plug-in offers: a `Config`, `load(config) -> ImageTable` and `present(config)`.

A dataset says what there is (images, labels, ids, domains, groups, its own splits); it does not
split, sample, augment or move anything. Those belong to `medldr.data` and are the same for all.
`present` tells a person in a few words where the files are, or that they are absent. A dataset of
files also offers `require(config)`, which raises the `InputError` that `load` would raise for an
absent one, without reading any: many runs are refused at once before the first of them starts.

`load_again(config, bad_files)` gives what `load` does without looking at each file once more: those
that cannot be used are known, because a pack was made since.

Two more are for sets that a benchmark is about: `examine(config, seen)` compares what is there with
what was published, for `medldr data check`, and shows each image to `seen` so that none is read
twice; `submission(config, predictions, seed)` gives the files that
the benchmark asks for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from medldr.config import PluginSection
from medldr.errors import InputError, did_you_mean
from medldr.types import Task


class DatasetConfig(PluginSection):
    """Keys that every dataset has."""

    root: Path | None = Field(None, description="folder of the files; unset: $MEDLDR_DATA")
    download: bool = Field(False, description="allow fetching absent files from the network")
    packed: Literal["auto", "off"] | Path = Field(
        "auto",
        description="folder that `medldr data pack` made; auto: the one in its usual place, if any",
    )
    held_out: tuple[str, ...] = Field((), description="domains never trained or validated on")
    held_out_rows: Literal["all", "test"] | None = Field(
        None,
        description="rows of held-out domains to test on: all, or the dataset's own test rows; "
        "unset: its own test rows where the dataset has splits, else all",
    )
    split_rule: Literal["stratified", "domainbed"] = Field(
        "stratified",
        description="where the dataset has no splits of its own: stratified parts that keep groups "
        "whole, or DomainBed's parts of each domain",
    )
    split_seed: Annotated[int, Field(ge=0, strict=True)] | Literal["seed"] = Field(
        0, description="seed of the splits, apart from the run's; seed: the run's own"
    )
    val_fraction: float = Field(
        0.15, gt=0, lt=1, description="validation part, where the dataset has none of its own"
    )
    test_fraction: float = Field(
        0.15, ge=0, lt=1, description="test part, where the dataset has no splits of its own"
    )
    train_fraction: float = Field(1.0, gt=0, le=1, description="part of the training rows used")
    exclude: tuple[str, ...] = Field((), description="ids of items, or of groups, left out")
    class_names: tuple[str, ...] | None = Field(None, description="names to show instead")
    allow_missing_classes: bool = Field(
        False, description="go on, with a note, where a class has no training row"
    )

    @field_validator("held_out", "exclude", mode="before")
    @classmethod
    def _one_is_a_list_of_one(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("held_out")
    @classmethod
    def _order_never_matters(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(value)))

    def with_seed(self, seed: int) -> Self:
        """The section with the seed of its splits as a number, for a run of this seed."""
        own = seed if self.split_seed == "seed" else self.split_seed
        return self.model_copy(update={"split_seed": own})


def check_held_out(held_out: Sequence[str], dataset: str, domains: Sequence[str]) -> None:
    """Refuse held-out domains that a dataset has not, or that are all it has.

    Args:
        held_out: Value of ``data.held_out``.
        dataset: Its name, for messages.
        domains: Names of all domains there are.

    Raises:
        InputError: With the nearest name and all there are.
    """
    if held_out and not domains:
        raise InputError(f"data.held_out: {dataset} has no domains, so none can be held out")
    for name in held_out:
        if name not in domains:
            raise InputError(
                f"data.held_out: {dataset} has no domain {name!r}."
                f"{did_you_mean(name, domains)} Domains: {', '.join(domains)}"
            )
    if held_out and set(held_out) >= set(domains):
        raise InputError(
            f"data.held_out: every domain of {dataset} is held out, which leaves none to train "
            f"on. Domains: {', '.join(domains)}"
        )


class LazyImages(ABC):
    """Pixels that are read when they are asked for, because they may not fit in memory.

    Rows are asked for like those of an array. Reading is safe from several workers at once.

    Attributes:
        shape: ``(N, C, [D,] H, W)``.
        stamp: Changes whenever a file behind the pixels is replaced (names, sizes, times).
    """

    dtype = np.dtype(np.uint8)
    shape: tuple[int, ...]
    stamp: str

    @property
    def ndim(self) -> int:
        """Number of axes, as of an array."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all pixels once they are read."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[np.uint8]:
        """Pixels of one row ``(C, [D,] H, W)`` or of several ``(n, C, [D,] H, W)``.

        Raises:
            InputError: If a file cannot be read; names it.
        """


Images: TypeAlias = NDArray[np.uint8] | LazyImages
"""An array, in memory or memory-mapped, or pixels that are read when asked for."""


Seen: TypeAlias = Callable[[str, NDArray[np.uint8]], None]
"""Called with the id and the pixels of an image that was read, also in threads."""


class BadFile(NamedTuple):
    """A file that was left out, because `data.on_bad_file` says so.

    Attributes:
        path: Where it is, relative to the data set's folder.
        reason: Why it cannot be used.
    """

    path: str
    reason: str


@dataclass(frozen=True)
class ImageTable:
    """All images of a dataset and what is known of each, row by row.

    Attributes:
        name: Dataset name for texts and hashes, for example ``fracturemnist3d_28``.
        task: Kind of labels.
        class_names: One name per class or per label.
        images: ``(N, C, [D,] H, W)`` uint8; in memory, memory-mapped, or read when asked for.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing label.
        ids: ``(N,)`` text, unique.
        splits: ``(N,)`` text: one of `SPLITS`, or empty where the dataset has no splits of its own.
        domains: ``(N,)`` text, all empty where the dataset has no domains.
        groups: ``(N,)`` text (patient, slide), all empty where there are none.
        masks: ``(N, [D,] H, W)`` bool, where the finding is; only phantoms know.
        notes: What a reader of any number from this dataset must be told.
        hashes: Checksum of each file read, by file name (for `run.json`). Where there are any they
            stand for the pixels, so they change whenever these do; of files that are too many to
            read each time, whenever a name or a size does.
        shared_groups: Pairs of splits that share groups by the dataset's own definition, such as
            ``("train", "id_val")``; between any others no group may cross.
        bad_files: Files that were left out.
    """

    name: str
    task: Task
    class_names: tuple[str, ...]
    images: Images
    labels: NDArray[np.int64] | NDArray[np.float32]
    ids: NDArray[np.str_]
    splits: NDArray[np.str_]
    domains: NDArray[np.str_]
    groups: NDArray[np.str_]
    masks: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    hashes: dict[str, str] = field(default_factory=dict)
    shared_groups: tuple[tuple[str, str], ...] = ()
    bad_files: tuple[BadFile, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)
