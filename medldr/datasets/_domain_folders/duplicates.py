"""Duplicate pictures: across domains they are a leak, across classes their labels are doubtful.

Source:
    Our choice. Published codes do not look for them, except that DomainBed brings a list of
    DomainNet's.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError
from medldr.folders.files import checksum

_EXAMPLES = 5


class Twins:
    """Collects pictures by their pixels; may be called from threads.

    Pixels are compared as they are given out, so two files count as equal where they decode to
    the same colours. Pictures of a single colour are skipped, as they are reported elsewhere.
    """

    def __init__(self) -> None:
        self._by_pixels: dict[bytes, list[str]] = {}
        self._lock = threading.Lock()

    def see(self, path: str, pixels: NDArray[np.uint8]) -> None:
        """Take note of a picture; ``path`` is ``domain/class/image``."""
        if (pixels == pixels.reshape(-1)[0]).all():
            return
        digest = hashlib.blake2b(np.ascontiguousarray(pixels).data, digest_size=16).digest()
        with self._lock:
            self._by_pixels.setdefault(digest, []).append(path)

    def findings(self, folder: Path) -> list[str]:
        """A text each for equal pictures in several domains, in several classes, and elsewhere.

        Args:
            folder: What paths are relative to; equal pictures are opened once more, to see
                whether the files are equal byte for byte.
        """
        sets = sorted(sorted(paths) for paths in self._by_pixels.values() if len(paths) > 1)
        domains = [paths for paths in sets if len({_domain(path) for path in paths}) > 1]
        classes = [paths for paths in sets if len({_class(path) for path in paths}) > 1]
        rest = [
            paths for paths in sets if len({(_domain(path), _class(path)) for path in paths}) == 1
        ]
        if not sets:
            return ["no duplicate pictures"]
        return [
            *_findings(
                folder, domains, "in more than one domain, so held-out pictures may be seen"
            ),
            *_findings(folder, classes, "in more than one class"),
            *_findings(folder, rest, "more than once in one class of one domain"),
        ]


def _findings(folder: Path, sets: list[list[str]], where: str) -> Iterator[str]:
    if not sets:
        return
    equal = sum(_bytes_are_equal(folder, paths) for paths in sets)
    examples = "; ".join(" = ".join(paths[:3]) for paths in itertools.islice(sets, _EXAMPLES))
    more = "; ..." if len(sets) > _EXAMPLES else ""
    pictures = "1 picture is" if len(sets) == 1 else f"{len(sets):,} pictures are"
    yield f"{pictures} {where} ({equal:,} as files equal byte for byte): {examples}{more}"


def _bytes_are_equal(folder: Path, paths: list[str]) -> bool:
    try:
        return len({checksum(folder / path, "sha256") for path in paths}) < len(paths)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}") from error


def _domain(path: str) -> str:
    return path.split("/", 2)[0]


def _class(path: str) -> str:
    return path.split("/", 2)[1]
