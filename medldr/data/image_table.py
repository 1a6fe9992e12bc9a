"""All images of a dataset and what is known of each: what every dataset plug-in hands over."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.types import Task

if TYPE_CHECKING:
    from medldr.data.files.config import Combined
    from medldr.data.files.facts import Facts


class LazyImages(ABC):
    """Pixels that are read on demand, because they may not fit in memory.

    Rows are asked for like those of an array. Reading is safe from several workers at once.

    Attributes:
        shape: ``(N, C, [D,] H, W)``.
        dtype: uint8, or float32 in [0, 1].
        stamp: Changes whenever a file behind the pixels is replaced (names, sizes, times).
        own_size: Whether training sees each image at the size of its file; rows are then the whole
            image, resized.
        in_memory: Whether nothing has to be read from the disk any more.
    """

    own_size: bool = False
    in_memory: bool = False
    dtype: np.dtype[Any] = np.dtype(np.uint8)
    shape: tuple[int, ...]
    stamp: str

    @property
    def ndim(self) -> int:
        """Number of axes, as for an array."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all pixels once they are read."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """Pixels of one row ``(C, [D,] H, W)`` or of several ``(n, C, [D,] H, W)``.

        Raises:
            InputError: If a file cannot be read; names it.
        """

    def at_own_size(self, row: int) -> NDArray[Any]:
        """Pixels of one row ``(C, [D,] h, w)`` at the size of its file, where `own_size` says so.

        Raises:
            InputError: If the file cannot be read; names it.
        """
        found: NDArray[Any] = self[row]
        return found


class FileImages(LazyImages):
    """Images of files, read one by one."""

    @abstractmethod
    def image(self, row: int) -> NDArray[Any]:
        """Pixels of a row ``(C, [D,] H, W)``, counted from 0.

        Raises:
            InputError: If the file cannot be read; names it.
        """

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """Pixels of one row or of several; see `LazyImages`."""
        if isinstance(rows, int | np.integer):
            return self.image(range(len(self))[rows])
        numbers = np.arange(len(self))[rows]
        images = np.empty((len(numbers), *self.shape[1:]), dtype=self.dtype)
        for place, row in enumerate(numbers.tolist()):
            images[place] = self.image(row)
        return images


Images: TypeAlias = NDArray[Any] | LazyImages
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


class Look(NamedTuple):
    """What one look at an image reveals.

    Attributes:
        constant: Whether all its pixels are equal.
        digest: Of its pixels: equal images have equal ones.
    """

    constant: bool
    digest: bytes


def digest_of(values: NDArray[Any]) -> bytes:
    """A digest of values with their type and shape, whatever the kind of file they are from."""
    digest = hashlib.blake2b(f"{values.dtype.str} {values.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(values).data)
    return digest.digest()


class Looks(NamedTuple):
    """What reading every file of a data set before training revealed.

    Attributes:
        by_id: A look at each image.
        notes: What readers of any result should know of how the files were read.
    """

    by_id: Mapping[str, Look]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImageTable:
    """All images of a dataset and what is known of each, row by row.

    Attributes:
        name: Dataset name for texts and hashes, for example ``fracturemnist3d_28``.
        task: Kind of labels. ``binary``: two classes, the second of them the positive one. A run on
            any other table of two classes is binary too; see `medldr.data.spec`.
        class_names: One name per class or per label.
        images: ``(N, C, [D,] H, W)`` uint8, or float32 in [0, 1] where 8 bits do not hold a scan;
            in memory, memory-mapped, or read when asked for. Stored latents are ``(N, D)`` float32,
            in memory, memory-mapped, or `medldr.data.bags.Bags` of several each.
        augmented: ``(V * N, D)``: augmented versions of stored latents, which training sees in
            their place; version ``v`` of row ``i`` is row ``v * N + i``. None where there are none.
        labels: ``(N,)`` int64, or ``(N, L)`` float32 with NaN for a missing label.
        ids: ``(N,)`` text, unique.
        splits: ``(N,)`` text: one of `SPLITS`, or empty where the dataset has no splits of its own.
        domains: ``(N,)`` text, all empty where the dataset has no domains.
        groups: ``(N,)`` text (patient, slide), all empty where there are none.
        masks: ``(N, [D,] H, W)`` bool, where the finding is; only phantoms know.
        notes: What readers of any result from this dataset should know.
        hashes: Checksum of each file read, by file name (for `run.json`). Where there are any, they
            represent the pixels, so they change whenever the pixels do; with too many files to read
            each time, whenever a name or a size does.
        beside: What was made of scans, by its name, and so is no item.
        shared_groups: Pairs of splits that share groups by the dataset's own definition, such as
            ``("train", "id_val")``; between any others no group may cross.
        bad_files: Files that were left out.
        metadata: Further columns ``(N,)`` of text by name (sex, age, device), those of
            `data.metadata` that results are divided by; empty where a value is missing.
        looks: What is known from reading every file once; None where that was not done. With them
            an id is the name of a file.
        facts: ``(N,)`` what each file is (kind, size, spacing), where scans were read; else empty.
        unused: Files beside those of the rows that no row refers to.
        reading: How each file becomes an image, as plain values, where that was decided by looking
            at all of them; prediction on new files follows it.
        combined: How several images became each item; None where each item is one image.
        facts_by_column: ``(N,)`` what each image of such items is, by its column; None for one that
            is missing.
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
    augmented: NDArray[np.float32] | None = None
    masks: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()
    hashes: dict[str, str] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    shared_groups: tuple[tuple[str, str], ...] = ()
    bad_files: tuple[BadFile, ...] = ()
    metadata: Mapping[str, NDArray[np.str_]] = field(default_factory=dict)
    looks: Looks | None = None
    facts: tuple[Facts, ...] = ()
    unused: tuple[str, ...] = ()
    reading: Mapping[str, Any] | None = None
    combined: Combined | None = None
    facts_by_column: Mapping[str, tuple[Facts | None, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def latents(self) -> bool:
        """Whether these are stored latents, of which there is no picture."""
        return self.images.ndim == 2

    @property
    def facts_of_images(self) -> Mapping[str, tuple[Facts | None, ...]]:
        """What each image is, by column; without a name where each item is one image."""
        return self.facts_by_column or {"": self.facts}
