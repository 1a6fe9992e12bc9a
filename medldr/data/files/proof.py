"""Every item of a data set read once before training, and why it cannot be used where it cannot.

What is wrong is told from facts that were remembered, so that nothing is read twice, and before any
image is made, so that all such items are named at once.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from medldr.data.files.combined import facts_of_item, look_of_item, misfit, of_one_patient
from medldr.data.files.config import Combined, ScanConfig
from medldr.data.files.facts import Facts
from medldr.data.files.geometry import apart, box_around, margin_around, require_dims
from medldr.data.files.image import NO_SPACING
from medldr.data.files.intensity import too_deep, window_fault
from medldr.data.files.memory import Examined, prove, state_of
from medldr.data.files.origin import Origin, made_beside
from medldr.data.files.read import (
    MASK_GROUND,
    READER,
    kind_by_name,
    of_mask,
    read_scan,
    readers,
    second_file,
)
from medldr.data.files.rules import combination, dims_of
from medldr.data.files.scan import Scan, ScanError, Source
from medldr.data.image_table import Look, digest_of

_MOST_CHANNELS: Final = 64
"""As many as `data.channels` may ask for."""


class Proven(NamedTuple):
    """What is known of one item.

    Attributes:
        reason: Why it cannot be used; empty where it can.
        content: What decides its image, of itself and of its mask: checksum of the values, and what
            the header says of them.
        facts: What it is; None where it cannot be read.
        look: At its values, as they were recorded.
        images: The facts of each image of an item that has several; None for one that is missing.
        made: What it is, where it was made of a scan beside it, and so is no item; else empty.
    """

    reason: str
    content: str
    facts: Facts | None
    look: Look
    images: tuple[Facts | None, ...] = ()
    made: str = ""

    @property
    def known(self) -> Facts:
        """The facts of a usable item."""
        if self.facts is None:
            raise ValueError(f"an item that cannot be used has no facts: {self.reason}")
        return self.facts


def prove_items(
    items: Sequence[Source],
    ids: Sequence[str],
    config: ScanConfig,
    title: str,
    columns: Sequence[str] = (),
    *,
    found: bool = False,
) -> list[Proven]:
    """Read every item that is not remembered, in parallel, and its mask.

    Args:
        items: ``(N,)`` items.
        ids: ``(N,)`` name of each, for messages.
        config: The section `data`.
        title: The data set's name, for those who watch.
        columns: Names of the images of each item, where it has several.
        found: Whether the items are whatever folders hold, and nobody named them.

    Raises:
        InputError: If pictures and volumes are mixed and no key says what to do.
    """
    if columns:
        return _prove_several(items, ids, config, title, columns)
    dims = None if config.dims == "auto" else config.dims
    rules = f"scans {READER} {dims} {config.exif}, {readers()}"
    read = functools.partial(read_scan, dims=dims, exif=config.exif)
    examined = _examined(
        items,
        functools.partial(read, ground=config.ground),
        f"{rules} {config.ground}",
        f"reading {title}",
    )
    masks = list(dict.fromkeys(item.mask for item in items if item.mask is not None))
    of_masks = _examined(
        masks,
        functools.partial(read, ground=MASK_GROUND),
        f"{rules} mask",
        f"reading masks of {title}",
    )
    by_mask: dict[Source | None, Examined] = dict(zip(masks, of_masks, strict=True))
    # A memory holds what many files have in common once: so it is read once, too.
    kinds = {id(one.facts): one.facts for one in examined if not one.reason}
    of_kind = {kind: Facts.from_json(values) for kind, values in kinds.items()}
    headers = {kind: known.header for kind, known in of_kind.items()}
    facts = [of_kind.get(id(one.facts)) for one in examined]
    made = _made(items, examined) if found else {}
    named = zip(ids, facts, strict=True)
    readable = {
        name: one for row, (name, one) in enumerate(named) if one is not None and row not in made
    }
    axes = dims_of(config, readable, title) if readable else 3
    return [
        Proven("", "", None, one.look, made=made[row])
        if row in made
        else _proven(
            one,
            its_facts,
            headers.get(id(one.facts), ""),
            by_mask.get(item.mask),
            item,
            config,
            axes,
        )
        for row, (one, its_facts, item) in enumerate(zip(examined, facts, items, strict=True))
    ]


def _made(items: Sequence[Source], examined: Sequence[Examined]) -> dict[int, str]:
    """Rows of files that were made of others in their folder, and what each is called."""
    folders: dict[Path, list[int]] = {}
    for row, item in enumerate(items):
        folders.setdefault(item.path.parent, []).append(row)
    made: dict[int, str] = {}
    for rows in folders.values():
        origins = [examined[row].facts.get("origin") for row in rows]
        here = made_beside([None if one is None else Origin(*one) for one in origins])
        made |= {rows[place]: kind for place, kind in here.items()}
    return made


def _prove_several(
    items: Sequence[Source],
    ids: Sequence[str],
    config: ScanConfig,
    title: str,
    columns: Sequence[str],
) -> list[Proven]:
    """The same of items of several images, of which each is read and looked at by itself."""
    images = [
        replace(image, mask=item.mask, point=item.point) if image.path == item.path else image
        for item in items
        for image in item.images
        if image is not None
    ]
    names = [
        f"{name} ({column})"
        for name, item in zip(ids, items, strict=True)
        for column, image in zip(columns, item.images, strict=True)
        if image is not None
    ]
    found = iter(prove_items(images, names, config, title))
    proven = [[None if image is None else next(found) for image in item.images] for item in items]
    known = [one.facts for of in proven for one in of if one is not None]
    readable = {name: one for name, one in zip(names, known, strict=True) if one is not None}
    dims = dims_of(config, readable, title) if readable else 3
    how = combination(config, columns, dims)
    return [_as_one(of, item, how) for of, item in zip(proven, items, strict=True)]


def _as_one(proven: Sequence[Proven | None], item: Source, how: Combined) -> Proven:
    """What is known of an item, by what is known of each of its images."""
    named = list(zip(how.names, proven, strict=True))
    faults = [f"{name}: {one.reason}" for name, one in named if one is not None and one.reason]
    look = look_of_item([None if one is None else one.look for one in proven])
    if faults:
        return Proven("; ".join(faults), "", None, look)
    images = tuple(None if one is None else one.known for one in proven)
    first = next(one for one in images if one is not None)
    if how.combine == "channels":
        faults = [
            f"{name}: {reason}"
            for name, one in zip(how.names, images, strict=True)
            if one is not None and (reason := misfit(first, one, how))
        ]
    reason = "; ".join(filter(None, [*faults, of_one_patient(images)]))
    content = "\n".join(
        "" if one is None or image is None else f"{one.content} {image.part}"
        for one, image in zip(proven, item.images, strict=True)
    )
    return Proven(reason, content, facts_of_item(images, how.names), look, images)


def _examined(
    items: Sequence[Source], read: Callable[[Source], Scan], rules: str, title: str
) -> list[Examined]:
    if not items:
        return []

    def examine(row: int) -> Examined:
        try:
            scan = read(items[row])
        except ScanError as error:
            known = {} if error.origin is None else {"origin": error.origin}
            return Examined(reason=str(error), facts=known)
        values = scan.values
        constant = bool((values == values.reshape(-1)[0]).all())
        return Examined("", digest_of(values).hex(), constant, Facts.of(scan)._asdict())

    parts = [_meant(item) for item in items]
    return prove(
        lambda row: items[row].path,
        [f"{item.path}#{part}" for item, part in zip(items, parts, strict=True)],
        rules,
        examine,
        title,
        folder=Path(os.path.commonpath([item.path.absolute() for item in items])),
        parts=parts,
    )


def _meant(item: Source) -> str:
    """What, beside the content of its file, decides what is read of an item.

    Its part; what its name says of its kind, for a file that was refused under one name may be read
    under another; and the state of the other file of a pair.
    """
    words = [item.part, kind_by_name(item.path)]
    other = second_file(item.path)
    if other is not None:
        words += map(str, state_of(other))
    return " ".join(words)


def _proven(
    one: Examined,
    facts: Facts | None,
    header: str,
    mask: Examined | None,
    item: Source,
    config: ScanConfig,
    dims: Literal[2, 3],
) -> Proven:
    look = one.look
    if facts is None:
        return Proven(one.reason, "", None, look)
    content = f"{one.digest} {header}"
    if item.point is not None:
        facts = facts._replace(others=(json.dumps(item.point),))
    if mask is None:
        return Proven(unfit(facts, config, dims, item), content, facts, look)
    if mask.reason:
        return Proven(of_mask(mask.reason), "", facts, look)
    of_mask_file = Facts.from_json(mask.facts)
    reason = unfit(facts, config, dims, item, of_mask_file)
    cut = f"{mask.digest} {of_mask_file.header}"
    return Proven(reason, f"{content} {cut}", facts._replace(others=(cut,)), look)


def unfit(
    facts: Facts, config: ScanConfig, dims: int, source: Source, mask: Facts | None = None
) -> str:
    """Why a readable item cannot become an image as the keys ask; empty where it can.

    Args:
        facts: What it is.
        config: The section `data`.
        dims: Of the data set.
        source: The item.
        mask: What its mask is, where it is cut around one.
    """
    try:
        require_dims(facts, dims, config.frame)
        _require_channels(facts.shape[0], config)
        _require_values(facts, config)
        if config.spacing is not None and facts.spacing is None:
            raise ScanError(NO_SPACING)
        _require_part(facts, config, dims, source, mask)
    except ScanError as error:
        return str(error)
    return ""


def _require_channels(has: int, config: ScanConfig) -> None:
    asked = config.channels
    if has > _MOST_CHANNELS:
        raise ScanError(
            f"it has {has:,} channels, and at most {_MOST_CHANNELS} are read. If they are a "
            "series over time, save one volume of it, or their mean"
        )
    if asked != "auto" and has != asked and not {has, asked} <= {1, 3}:
        raise ScanError(f"it has {has} channels, but data.channels asks for {asked}")


def _require_values(facts: Facts, config: ScanConfig) -> None:
    if config.window == "file" and (reason := window_fault(facts)):
        raise ScanError(reason)
    depth = config.bit_depth
    if isinstance(depth, str) or config.window != "auto" or facts.bits != 16:
        return
    if facts.high > 2**depth - 1:
        raise ScanError(too_deep(facts.high, depth))


def _require_part(
    facts: Facts, config: ScanConfig, dims: int, source: Source, mask: Facts | None
) -> None:
    """Refuse a point or a mask that does not fit its scan.

    Source:
        Our choice: a mask may lie half a pixel beside its scan at any corner. Each is turned by
        what it says itself, so a mask that does not say the same as its scan may mark the patient's
        other side.
    """
    if config.crop is None:
        return
    seen = facts.seen_as(dims)
    if source.point is not None:
        box_around(seen, source.point, config.crop)
    if mask is None:
        return
    try:
        require_dims(mask, dims, config.frame)
    except ScanError as error:
        raise ScanError(of_mask(str(error))) from error
    marks = bool(mask.low or mask.high)
    margin_around(seen, mask.seen_as(dims).spatial, config.crop, marks=marks)
    cure = "Save the mask with the affine of its scan"
    if facts.affine is None and mask.affine is None:
        return
    if facts.affine is None or mask.affine is None:
        raise ScanError(f"of it and its mask only one says how the patient lay. {cure}")
    away = apart(facts, mask)
    if away > min(facts.spacing or (0.0,)) / 2:
        raise ScanError(f"its mask lies up to {away:.3g} mm beside it, or is turned. {cure}")
