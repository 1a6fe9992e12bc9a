"""Packs: finding one, opening it, and what of its data set has changed since it was made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from medldr.data.config import DatasetConfig
from medldr.data.files.rules import PACK
from medldr.data.image_table import BadFile, ImageTable, LazyImages
from medldr.data.proven import ProvenImages
from medldr.data.reading.roots import data_roots
from medldr.data.store.array import Blocks
from medldr.data.store.pack_files import (
    AGAIN,
    FACTS,
    PackFacts,
    deciding_keys,
    hash_columns,
    proven_images,
    read_columns,
    read_facts,
)
from medldr.errors import InputError, did_you_mean

VIEWS: Final = "views"
"""In a folder of latents: that of augmented versions of them, a pack like it."""

_STAMP: Final = (
    "files behind its pictures have been replaced or modified since "
    "(their names, sizes or times changed)"
)


@dataclass(frozen=True)
class Pack:
    """A whole pack, opened.

    Attributes:
        folder: Where it is.
        facts: Its own description.
        images: ``(N, C, [D,] H, W)`` uint8, read-only and memory-mapped; proved when first read.
    """

    folder: Path
    facts: PackFacts
    images: ProvenImages

    def table(self) -> ImageTable:
        """The packed table, from the pack alone; masks are not packed.

        Raises:
            InputError: If `table.csv` is damaged.
        """
        facts = self.facts
        return ImageTable(
            name=facts.dataset,
            task=facts.task,
            class_names=facts.class_names,
            images=self.images,
            notes=facts.notes,
            hashes=facts.hashes,
            shared_groups=facts.shared_groups,
            reading={"kind": PACK},
            bad_files=tuple(BadFile(*entry) for entry in facts.bad_files),
            combined=facts.combined,
            **read_columns(self.folder, facts),
        )


def usual_place(section: DatasetConfig, dataset: str) -> Path:
    """Where the pack of a `data` section is kept unless another folder is named.

    Args:
        section: A `data` section.
        dataset: Name of its table.

    Example:
        >>> section = DatasetConfig(name="camelyon17", root="scans")
        >>> usual_place(section, "camelyon17").as_posix()
        'scans/packed/camelyon17-041ce691'
    """
    return _packs(section) / f"{dataset}-{_hash(section)}"


def _packs(section: DatasetConfig) -> Path:
    return data_roots(section.root)[0] / "packed"


def _hash(section: DatasetConfig) -> str:
    text = json.dumps(deciding_keys(section), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def find_pack(section: DatasetConfig) -> Pack | None:
    """The pack that a `data` section reads from, by its key `packed`; None where there is none.

    Raises:
        InputError: If ``data.packed`` names no whole pack of this data set, or if the one in its
            usual place is damaged.
    """
    if section.packed == "off":
        return None
    if isinstance(section.packed, Path):
        try:
            return open_pack(section.packed.expanduser(), section)
        except InputError as error:
            near = did_you_mean(section.packed.name, ("auto", "off"))
            raise InputError(
                f"data.packed (auto, off, or the folder of a pack):{near} {error}"
            ) from error
    for folder in sorted(_packs(section).glob(f"*-{_hash(section)}")):
        if (folder / FACTS).is_file():
            return open_pack(folder, section)
    return None


def open_pack(folder: Path, section: DatasetConfig) -> Pack:
    """Open a pack and check it against the keys of a `data` section.

    Raises:
        InputError: If it is not a pack, unfinished, damaged, or of another data set or other keys.
    """
    facts = read_facts(folder)
    wanted = deciding_keys(section)
    if facts.keys != wanted:
        raise InputError(
            f"{folder} is a pack of {_listed(facts.keys)}, but the data section asks for "
            f"{_listed(wanted)}. Name its own pack in data.packed, or make it with "
            "`medldr data pack`"
        )
    return Pack(folder, facts, proven_images(folder, facts))


def pack_of_latents(folder: Path) -> Pack:
    """A folder that `medldr features` wrote, opened.

    Raises:
        InputError: If it is not one, unfinished or damaged.
    """
    facts = read_facts(folder)
    if facts.encoder is None:
        raise InputError(
            f"{folder} is a pack of images, not of latents. `medldr features` makes latents of them"
        )
    return Pack(folder, facts, proven_images(folder, facts))


def pack_of_views(latents: Pack) -> Pack:
    """The augmented versions of stored latents, all items of the first, then of the second, ...

    Raises:
        InputError: If there are none, or of other latents, or damaged.
    """
    folder, wanted = latents.folder / VIEWS, latents.facts.encoder or {}
    if not (folder / FACTS).is_file():
        raise InputError(
            f"data.views: {latents.folder} holds no augmented latents. `medldr features` with "
            "--views makes them; data.views=false trains without"
        )
    views = pack_of_latents(folder)
    made = views.facts.encoder or {}
    if other := sorted(key for key in wanted if made.get(key) != wanted[key]):
        raise InputError(
            f"data.views: {folder} is of other latents than those beside it: {', '.join(other)} "
            "differ. Make both again with `medldr features --force`"
        )
    return views


def _listed(keys: dict[str, Any]) -> str:
    rest = ", ".join(f"{key}={value}" for key, value in keys.items() if key != "name")
    return f"{keys.get('name')}{f' ({rest})' if rest else ' (nothing else set)'}"


def stale(pack: Pack, changed: list[str]) -> InputError:
    """The error for a pack that does not agree with the files it was made from."""
    cure = AGAIN
    if only_touched(changed):
        cure = (
            "If they hold the same pictures, `medldr data pack ... --verify` compares them all and "
            f"keeps the pack; if not, {AGAIN[0].lower()}{AGAIN[1:]}"
        )
    return InputError(
        f"{pack.facts.dataset} has changed since it was packed in {pack.folder}: "
        f"{'; '.join(changed)}. {cure}"
    )


def only_touched(changed: list[str]) -> bool:
    """Whether nothing but the times, sizes or names of the pictures' files may have changed."""
    return changed == [_STAMP]


def differences(pack: Pack, table: ImageTable) -> list[str]:
    """What of a data set changed since it was packed, a text each; empty where they agree."""
    facts = pack.facts
    changed = []
    for what, now, then in (
        ("name", table.name, facts.dataset),
        ("task", table.task, facts.task),
        ("class names", ", ".join(table.class_names), ", ".join(facts.class_names)),
        ("labels' type", table.labels.dtype.name, facts.label_dtype),
        ("images' size", table.images.shape[1:], facts.shape[1:]),
    ):
        if now != then:
            changed.append(f"its {what} is now {now}, then {then}")
    if hash_columns(table) != facts.columns:
        changed += list(_changed_rows(pack.table(), table)) or ["its columns changed"]
    for file in sorted(facts.hashes.keys() | table.hashes.keys()):
        if facts.hashes.get(file) != table.hashes.get(file):
            changed.append(f"{file} has a different checksum")
    if changed:
        return changed
    if isinstance(table.images, LazyImages):
        return [] if table.images.stamp == facts.stamp else [_STAMP]
    if not table.hashes:  # no checksum represents the pixels, and they are in memory
        blocks = Blocks(len(table), facts.block_rows)
        for number in range(len(blocks)):
            if not np.array_equal(table.images[blocks[number]], pack.images[blocks[number]]):
                return [f"pixels changed from row {blocks[number].start} on"]
    return []


def _changed_rows(then: ImageTable, now: ImageTable) -> Iterator[str]:
    before, after = then.ids.tolist(), now.ids.tolist()
    for word, ids in (("new", set(after) - set(before)), ("gone", set(before) - set(after))):
        if ids:
            yield f"{len(ids):,} of its rows are {word}, for example {min(ids)}"
    if before != after:
        if sorted(before) == sorted(after):
            yield "its rows are in a different order"
        return
    for name in ("labels", "domains", "groups", "splits"):
        old, new = getattr(then, name), getattr(now, name)
        if old.shape != new.shape:
            yield f"its {name} have a different shape"
            continue
        differ = (old != new) & ~((old != old) & (new != new))
        rows = np.flatnonzero(differ.reshape(len(differ), -1).any(1))
        if len(rows):
            row = rows[0]
            yield (
                f"its {name} differ in {len(rows):,} of its rows, for example {after[row]}: now "
                f"{new[row]}, then {old[row]}"
            )
