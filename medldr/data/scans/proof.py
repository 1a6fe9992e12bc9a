"""Every item of a data set read once before training, and what is known of each from then on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import Look
from medldr.data.reading.proof import Examined, prove
from medldr.data.scans.config import ScanConfig
from medldr.data.scans.facts import Facts
from medldr.data.scans.read import READER, read_scan
from medldr.data.scans.resolve import unfit
from medldr.data.scans.scan import ScanError
from medldr.data.scans.source import Source


class Proven(NamedTuple):
    """What is known of one item.

    Attributes:
        reason: Why it cannot be used; empty where it can.
        content: Checksum of what it holds.
        facts: What it is; None where it cannot be read.
        look: At its values, as they were recorded.
    """

    reason: str
    content: str
    facts: Facts | None
    look: Look

    @property
    def known(self) -> Facts:
        """The facts of a usable item."""
        if self.facts is None:
            raise ValueError(f"an item that cannot be used has no facts: {self.reason}")
        return self.facts


def prove_items(items: Sequence[Source], config: ScanConfig, title: str) -> list[Proven]:
    """Read every item that is not remembered, in parallel.

    Args:
        items: ``(N,)`` items.
        config: The section `data`.
        title: The data set's name, for those who watch.
    """
    dims: Literal[2, 3] | None = None if config.dims == "auto" else config.dims

    def examine(row: int) -> Examined:
        try:
            scan = read_scan(items[row], dims, ground=config.ground, exif=config.exif)
        except ScanError as error:
            return Examined(reason=str(error))
        values = scan.values
        constant = bool((values == values.reshape(-1)[0]).all())
        return Examined("", _digest(values), constant, Facts.of(scan).as_json())

    found = prove(
        [item.path for item in items],
        [f"{item.path}#{item.part}" for item in items],
        f"scans {READER} {dims} {config.ground} {config.exif}",
        examine,
        f"reading {title}",
        parts=[item.part for item in items],
    )
    return [_proven(one, config) for one in found]


def _proven(one: Examined, config: ScanConfig) -> Proven:
    look = Look(one.constant, bytes.fromhex(one.digest))
    if one.reason:
        return Proven(one.reason, "", None, look)
    facts = Facts.from_json(dict(one.facts))
    return Proven(unfit(facts, config), one.digest, facts, look)


def _digest(values: NDArray[Any]) -> str:
    """Of the values as they were recorded, whatever the kind of file."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{values.dtype.str} {values.shape}".encode())
    digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
