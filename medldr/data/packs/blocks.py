"""The blocks of a pack: what is written, hashed and compared at once."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Blocks:
    """How the rows of an array fall into blocks.

    Attributes:
        rows: Rows of the array.
        each: Rows per block; the last one may be shorter.

    Example:
        >>> blocks = Blocks(rows=10, each=4)
        >>> len(blocks), blocks[2]
        (3, slice(8, 10, None))
    """

    rows: int
    each: int

    @classmethod
    def of(cls, shape: Sequence[int]) -> Blocks:
        """Blocks of about 16 MiB: some hundred pictures, and a second's work at most."""
        return cls(shape[0], max(1, BLOCK_BYTES // max(1, math.prod(shape[1:]))))

    def __len__(self) -> int:
        return -(-self.rows // self.each)

    def __getitem__(self, number: int) -> slice:
        start = number * self.each
        return slice(start, min(start + self.each, self.rows))

    def size(self, number: int) -> int:
        """Rows of one block."""
        return min(self.each, self.rows - number * self.each)


def hash_block(images: NDArray[np.uint8], rows: slice) -> str:
    """sha256 of some rows' pixels."""
    return hashlib.sha256(np.ascontiguousarray(images[rows]).data).hexdigest()
