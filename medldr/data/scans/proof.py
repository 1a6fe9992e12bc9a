"""Every item of a data set read once before training, and what is known of each from then on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import Look
from medldr.data.reading.content import state_of
from medldr.data.reading.proof import Examined, prove
from medldr.data.scans.config import ScanConfig
from medldr.data.scans.facts import Facts
from medldr.data.scans.read import MASK_GROUND, READER, kind_by_name, of_mask, read_scan
from medldr.data.scans.resolve import dims_of
from medldr.data.scans.scan import Scan, ScanError
from medldr.data.scans.source import PAIRS, Source
from medldr.data.scans.unfit import unfit
from medldr.data.scans.versions import readers


class Proven(NamedTuple):
    """What is known of one item.

    Attributes:
        reason: Why it cannot be used; empty where it can.
        content: Checksum of what it holds, and of its mask.
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


def prove_items(
    items: Sequence[Source], ids: Sequence[str], config: ScanConfig, title: str
) -> list[Proven]:
    """Read every item that is not remembered, in parallel, and its mask.

    Args:
        items: ``(N,)`` items.
        ids: ``(N,)`` name of each, for messages.
        config: The section `data`.
        title: The data set's name, for those who watch.

    Raises:
        InputError: If pictures and volumes are mixed and no key says what to do.
    """
    dims: Literal[2, 3] | None = None if config.dims == "auto" else config.dims

    def read(item: Source) -> Scan:
        return read_scan(item, dims, ground=config.ground, exif=config.exif)

    def read_plainly(item: Source) -> Scan:
        return read_scan(item, dims, ground=MASK_GROUND, exif=config.exif)

    rules = f"scans {READER} {dims} {config.exif}, {readers()}"
    found = _examined(items, read, f"{rules} {config.ground}", f"reading {title}")
    masks = list(dict.fromkeys(item.mask for item in items if item.mask is not None))
    of_masks = _examined(masks, read_plainly, f"{rules} mask", f"reading masks of {title}")
    known_masks = dict(zip(masks, of_masks, strict=True))
    facts = [None if one.reason else Facts.from_json(dict(one.facts)) for one in found]
    readable = {name: one for name, one in zip(ids, facts, strict=True) if one is not None}
    axes = dims_of(config, readable, title) if readable else 3
    return [
        _proven(
            one, known, None if item.mask is None else known_masks[item.mask], item, config, axes
        )
        for one, known, item in zip(found, facts, items, strict=True)
    ]


def _examined(
    items: Sequence[Source], read: Callable[[Source], Scan], rules: str, title: str
) -> list[Examined]:
    def examine(row: int) -> Examined:
        try:
            scan = read(items[row])
        except ScanError as error:
            return Examined(reason=str(error))
        values = scan.values
        constant = bool((values == values.reshape(-1)[0]).all())
        return Examined("", _digest(values), constant, Facts.of(scan).as_json())

    parts = [_meant(item) for item in items]
    return prove(
        [item.path for item in items],
        [f"{item.path}#{part}" for item, part in zip(items, parts, strict=True)],
        rules,
        examine,
        title,
        parts=parts,
    )


def _meant(item: Source) -> str:
    """What decides, beside a file's content, what is read of it.

    Its part; what its name says of its kind, for a file that was refused is read under a better
    name; of a pair the state of the other file.
    """
    words = [item.part, kind_by_name(item.path)]
    if item.path.name.lower().endswith(PAIRS):
        from medldr.data.scans.nifti import other_of_pair

        words += map(str, state_of(other_of_pair(item.path)))
    return " ".join(words)


def _proven(
    one: Examined,
    facts: Facts | None,
    mask: Examined | None,
    item: Source,
    config: ScanConfig,
    dims: Literal[2, 3],
) -> Proven:
    look = Look(one.constant, bytes.fromhex(one.digest))
    if facts is None:
        return Proven(one.reason, "", None, look)
    if mask is None:
        return Proven(unfit(facts, config, dims, item), one.digest, facts, look)
    if mask.reason:
        return Proven(of_mask(mask.reason), "", facts, look)
    reason = unfit(facts, config, dims, item, Facts.from_json(dict(mask.facts)))
    return Proven(reason, f"{one.digest} {mask.digest}", facts, look)


def _digest(values: NDArray[Any]) -> str:
    """Of the values as they were recorded, whatever the kind of file."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{values.dtype.str} {values.shape}".encode())
    digest.update(np.ascontiguousarray(values).data)
    return digest.hexdigest()
