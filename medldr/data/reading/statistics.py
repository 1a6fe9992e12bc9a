"""Looking at each image of a table once, part by part; at pictures in files in threads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import Images, LazyImages, Look
from medldr.data.threads import in_threads

__all__ = ["Look", "each_part", "look_at"]

Made = TypeVar("Made")

_BLOCK_BYTES = 1 << 24
_PIECE_BYTES = 1 << 20  # decoded by one thread at a time


def look_at(block: NDArray[np.uint8]) -> list[Look]:
    """A look at each of some images ``(n, ...)``.

    Example:
        >>> one, other = look_at(np.uint8([[[0, 0]], [[0, 1]]]))
        >>> one.constant, other.constant, one.digest == other.digest
        (True, False, False)
    """
    flat = np.ascontiguousarray(block).reshape(len(block), -1)
    constant = (flat == flat[:, :1]).all(1).tolist()
    digests = (hashlib.blake2b(image.data, digest_size=16).digest() for image in flat)
    return list(map(Look, constant, digests))


def each_part(
    images: Images,
    rows: NDArray[np.int64],
    work: Callable[[NDArray[np.uint8]], Made],
    *,
    title: str,
) -> Iterator[Made]:
    """``work`` on the pixels ``(n, C, [D,] H, W)`` of part after part of some rows, in order.

    Args:
        images: Where the rows are.
        rows: Their numbers.
        work: Called in threads where pictures in files have to be decoded.
        title: What is being done, for those who watch.
    """
    lazy = isinstance(images, LazyImages)
    image_bytes = max(1, int(np.prod(images.shape[1:])))
    step = max(1, (_PIECE_BYTES if lazy else _BLOCK_BYTES) // image_bytes)

    def of(part: range) -> Made:
        return work(images[rows[part.start : part.stop]])

    if lazy:
        yield from in_threads(of, len(rows), step=step, title=title)
        return
    for start in range(0, len(rows), step):
        yield of(range(start, min(start + step, len(rows))))
