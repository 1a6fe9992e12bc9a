"""An array in a file, each block of which is proved to be as it was written when it is first read.

Source:
    Our choice. To prove all of it when it is opened would read gigabytes before the first step;
    never to prove it would let a disk's flipped bit into weights and numbers.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError


@dataclass(frozen=True)
class Proof:
    """What the blocks of an array were when they were written, and which were compared by now.

    Attributes:
        each: Rows per block; the last one may be shorter.
        sha256: Of each block.
        name: The file, for messages.
        cure: What to do about a damaged one, as a sentence.
        proved: By block; in memory that forked workers share, so that each is proved once.
        locks: By process and block, since a forked one must not wait for its parent's threads.
    """

    each: int
    sha256: Sequence[str]
    name: str
    cure: str
    proved: NDArray[np.uint8] = field(init=False)
    locks: dict[tuple[int, int], threading.Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shared = mmap.mmap(-1, max(1, len(self.sha256)))
        object.__setattr__(self, "proved", np.frombuffer(shared, np.uint8))

    def prove(self, array: NDArray[Any], blocks: NDArray[np.int64]) -> None:
        """Compare some blocks, unless they were compared before.

        Raises:
            InputError: If one is not as it was written; names its rows.
        """
        for block in blocks[self.proved[blocks] == 0].tolist():
            with self.locks.setdefault((os.getpid(), block), threading.Lock()):
                if self.proved[block]:
                    continue
                first = block * self.each
                rows = np.ascontiguousarray(array[first : first + self.each])
                if hashlib.sha256(rows.data).hexdigest() != self.sha256[block]:
                    raise InputError(
                        f"{self.name} is damaged: rows {first} to {first + len(rows) - 1} are not "
                        f"as they were written. {self.cure}"
                    )
                self.proved[block] = 1


class ProvenImages(np.memmap[Any, np.dtype[Any]]):
    """Memory-mapped images ``(N, C, [D,] H, W)``; what is read of them has been proved.

    Reading by rows proves by itself. Who reads their memory in another way calls `prove` before.

    Attributes:
        proof: Of their blocks; None in another process that got a copy.
        looks: Reads a look at each (`medldr.data.image_table.Look`), ``(N, 17)`` uint8: whether it
            is constant, and its digest; None where the file's writer took none.
    """

    proof: Proof | None = None
    looks: Callable[[], NDArray[np.uint8]] | None = None

    @classmethod
    def of(
        cls, array: NDArray[Any], proof: Proof, looks: Callable[[], NDArray[np.uint8]] | None
    ) -> ProvenImages:
        """A memory-mapped array with its proof."""
        images = array.view(cls)
        images.proof, images.looks = proof, looks
        return images

    def prove(self, rows: Any) -> None:
        """Compare the blocks of some rows, as an index names them, unless they were compared.

        Raises:
            InputError: If one is not as it was written.
        """
        if self.proof is None:
            return
        first = rows[0] if isinstance(rows, tuple) else rows
        if isinstance(first, slice):
            numbers = np.arange(*first.indices(len(self)))
        else:
            numbers = np.atleast_1d(first)
            numbers = np.flatnonzero(numbers) if numbers.dtype == bool else numbers % len(self)
        self.proof.prove(np.asarray(self), np.unique(numbers // self.proof.each))

    def __getitem__(self, rows: Any) -> Any:
        self.prove(rows)
        return np.asarray(self)[rows]
