"""Own scans: a table with a row for each (CSV, Parquet, JSON lines), or folders that say it all.

NIfTI, DICOM files and series, MetaImage, NRRD, PNG, JPEG, TIFF, BMP, WebP, and NumPy arrays, in 2D
or 3D, of any size and mode. Columns name the path, the label (or several labels), the domain
(hospital, scanner), the group (patient) and the split; further ones divide results. Everything in a
table is text as it is written: ``007``, ``NA`` and ``None`` are values, and only an empty cell is
missing.

Every file is read once before training, in parallel, and what was found is remembered by content.
All files of a set become images by one set of rules (`medldr.data.files.rules`), the same in
training, evaluation and prediction.

Source:
    Our choice throughout; each rule is a key, described there and in `medldr.data.files`. Volumes
    keep MONAI's order of axes, ``(C, X, Y, Z)`` with RAS+ orientation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from medldr.data.files.image import ScanImages
from medldr.data.files.origin import beside_note
from medldr.data.files.proof import prove_items
from medldr.data.files.rules import SCAN, resolve, resolve_several
from medldr.data.image_table import Looks
from medldr.data.listing.item_frame import Listing
from medldr.data.store import stored
from medldr.datasets._table.config import Config
from medldr.datasets._table.list_items import list_items
from medldr.datasets.base import BadFile, ImageTable, check_held_out
from medldr.errors import InputError
from medldr.types import Task

__all__ = ["Config", "list_items", "load", "present", "require"]

_SAY_NOTHING: Final = frozenset(
    {*("data", "dataset", "images", "index", "label", "labels", "meta", "metadata", "scans")}
    | {"table", "train"}
)
"""Names of tables; their folders' names say more."""
_NO_GROUPS: Final = (
    "no patients are named (data.group or data.group_pattern): splits may divide a patient's "
    "images, and 95% CIs count images as independent."
)


def load(config: Config) -> ImageTable:
    """Read the table, every file, and make images of them.

    Raises:
        InputError: If the table or any file cannot be used as the keys ask; names file and cure.
    """
    listing = list_items(config)
    name = data_name(config)
    several = config.images
    found = config.file is None
    proven = prove_items(listing.sources, listing.ids.tolist(), config, name, several, found=found)
    beside = {n: one.made for n, one in zip(listing.ids.tolist(), proven, strict=True) if one.made}
    listing = listing.take(np.flatnonzero([not one.made for one in proven]))
    proven = [one for one in proven if not one.made]
    bad = tuple(
        BadFile(path, one.reason)
        for path, one in zip(listing.ids.tolist(), proven, strict=True)
        if one.reason
    )
    listing, left_out = listing.without(bad, name, skip=config.on_bad_file == "skip")
    good = [one for one in proven if not one.reason]
    ids = listing.ids.tolist()
    facts = [one.known for one in good]
    if several:
        of_images = dict(zip(ids, (one.images for one in good), strict=True))
        rules, rule_notes = resolve_several(config, of_images, several, name)
    else:
        rules, rule_notes = resolve(config, dict(zip(ids, facts, strict=True)), name)
    images = ScanImages(
        listing.sources,
        [one.content for one in good],
        rules,
        rules.size or facts[0].seen_as(rules.dims).spatial,
    )
    notes = [*listing.notes, *rule_notes, *beside_note(beside)]
    if not (listing.groups != "").any():
        notes.append(_NO_GROUPS)
    return listing.table(
        name=name,
        task=_task(config, listing),
        images=stored(images, config.cache, name),
        notes=tuple(f"{name}: {note}" for note in [*notes, *left_out]),
        hashes={"images": images.stamp},
        bad_files=(*listing.skipped, *bad),
        looks=Looks(dict(zip(ids, (one.look for one in good), strict=True))),
        facts=tuple(facts),
        unused=listing.unused,
        beside=beside,
        combined=rules.combined,
        facts_by_column={
            column: tuple(one.images[number] for one in good)
            for number, column in enumerate(several)
        },
        reading={"kind": SCAN, **rules.as_dict()},
    )


def data_name(config: Config) -> str:
    """The data set's name in texts: as the keys say, or that of its table or folder.

    Example:
        >>> data_name(Config(file="/hand/wrists.csv")), data_name(Config(file="/wrists/labels.csv"))
        ('wrists', 'wrists')
    """
    place = (config.file or config.root or Path("table")).expanduser().absolute()
    if config.file is not None and place.stem.casefold() in _SAY_NOTHING:
        place = place.parent
    return config.set or place.stem or "table"


def present(config: Config) -> str:
    """Where the table or the folders are on this machine, or that they are absent."""
    place = config.file or config.root
    if place is None:
        return "your own (set data.file, or data.root and data.folders)"
    return f"in {place}" if place.expanduser().exists() else f"missing ({place})"


def require(config: Config) -> None:
    """Read the text alone, and check that held-out domains are in it; no scan is opened.

    Raises:
        InputError: What `load` would raise for the table, its files' names, or the domains.
    """
    domains = sorted(set(list_items(config).domains.tolist()) - {""})
    check_held_out(config.held_out, data_name(config), domains)


def _task(config: Config, listing: Listing) -> Task:
    if listing.multi_label:
        if config.ordinal:
            raise InputError("data.ordinal: grades need one label column, but several are named")
        return "multi-label"
    if len(listing.class_names) < 2:
        raise InputError(
            f"{data_name(config)} has a single class, {listing.class_names[0]!r}: there is "
            "nothing to tell apart. Check data.label"
        )
    return "ordinal" if config.ordinal else "multi-class"


CONTRACT_KEYS = {"folders": ["domain", "label"], "size": 8, "cache": "memory"}
