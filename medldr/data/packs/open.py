"""Finding a pack, by name or in its usual place, and opening it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medldr.data.config import DatasetConfig
from medldr.data.files.rules import PACK
from medldr.data.image_table import BadFile, ImageTable
from medldr.data.packs.format import (
    FACTS,
    Facts,
    deciding_keys,
    open_images,
    read_facts,
)
from medldr.data.packs.table import read_columns
from medldr.data.reading.roots import data_roots
from medldr.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Pack:
    """A whole pack, opened.

    Attributes:
        folder: Where it is.
        facts: Its own description.
        images: ``(N, C, [D,] H, W)`` uint8, read-only and memory-mapped.
    """

    folder: Path
    facts: Facts
    images: np.memmap[Any, np.dtype[np.uint8]]

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
    return Pack(folder, facts, open_images(folder, facts))


def _listed(keys: dict[str, Any]) -> str:
    rest = ", ".join(f"{key}={value}" for key, value in keys.items() if key != "name")
    return f"{keys.get('name')}{f' ({rest})' if rest else ' (nothing else set)'}"
