"""The images of a data set of scans, read when they are asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import LazyImages
from medldr.data.scans.make import make_image
from medldr.data.scans.read import READER
from medldr.data.scans.rules import Rules
from medldr.data.scans.scan import ScanError
from medldr.data.scans.source import Source
from medldr.data.scans.versions import makers
from medldr.errors import InputError


class ScanImages(LazyImages):
    """Images of items by the rules of their data set, in row order.

    Args:
        sources: ``(N,)`` items.
        contents: ``(N,)`` checksum of each item's content, and of its mask's.
        rules: How an item becomes an image.
        spatial: Pixels along each axis.

    Attributes:
        shape: ``(N, C, H, W)`` or ``(N, C, X, Y, Z)``.
        dtype: uint8, or float32 in [0, 1].
        stamp: Changes with the rules, the content of any file, and their order.
        key: Changes with the stamp and with the versions of the packages that make the images.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        contents: Sequence[str],
        rules: Rules,
        spatial: tuple[int, ...],
    ) -> None:
        self.sources = tuple(sources)
        self.rules = rules
        self.shape = (len(self.sources), rules.channels, *spatial)
        self.dtype = np.dtype(np.uint8 if rules.eight_bit else np.float32)
        self.stamp = _stamp(self.sources, contents, rules, self.shape)
        self.key = hashlib.sha256(f"{self.stamp} {makers()}".encode()).hexdigest()

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """The image of one row or of several.

        Raises:
            InputError: If an item cannot be used; names it.
        """
        if isinstance(rows, int | np.integer):
            return self._image(int(rows))
        numbers = np.arange(len(self))[rows]
        found = np.empty((len(numbers), *self.shape[1:]), dtype=self.dtype)
        for place, row in enumerate(numbers.tolist()):
            found[place] = self._image(row)
        return found

    def _image(self, row: int) -> NDArray[Any]:
        source = self.sources[row]
        try:
            image = make_image(source, self.rules)
        except ScanError as error:
            raise InputError(f"{source.path} cannot be used: {error}") from error
        if image.shape != self.shape[1:]:
            raise InputError(
                f"{source.path} is {' x '.join(map(str, image.shape))} now, but the others are "
                f"{' x '.join(map(str, self.shape[1:]))}. Restore the file, or set data.size"
            )
        return image


def _stamp(
    sources: Sequence[Source], contents: Sequence[str], rules: Rules, shape: tuple[int, ...]
) -> str:
    digest = hashlib.sha256()
    digest.update(json.dumps([READER, rules.as_dict(), shape], sort_keys=True).encode())
    for source, content in zip(sources, contents, strict=True):
        digest.update(json.dumps([content, source.part, source.point]).encode())
    return digest.hexdigest()
