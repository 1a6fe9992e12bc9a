"""Stored latents: a folder that medldr wrote, or a table of files that other programs wrote.

Each item is one latent of ``D`` numbers. A file with several (the patches of a slide) is a bag, as
are the rows of one patient with `data.bag_by`; `data.bag` says what becomes of it. Labels, domains,
groups and splits are as in any data set.

Source:
    Our choice. Latents are used as they are stored, without a scale of their own: whoever wants
    them standardised does that where they are made.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from medldr.data.bags import Bags, join_rows
from medldr.data.files.latent import ATTENTION, latents_of, one_latent, read_array
from medldr.data.files.rules import LATENTS
from medldr.data.files.scan import Source
from medldr.data.hashes import AUGMENTED
from medldr.data.image_table import Images, ImageTable
from medldr.data.listing.config import ListedConfig
from medldr.data.listing.item_frame import Listing
from medldr.data.listing.tables import read_sheet
from medldr.data.store import Pack, pack_of_latents, pack_of_views
from medldr.data.store.pack_files import FACTS
from medldr.data.threads import in_threads
from medldr.datasets._table.config import Config as TableConfig
from medldr.datasets._table.list_items import list_items
from medldr.datasets.base import BadFile, check_held_out
from medldr.errors import InputError

_STEP: Final = 16


class Config(ListedConfig):
    """Keys of the dataset ``features``."""

    name: Literal["features"] = "features"
    file: Path | None = Field(
        None,
        description="table with a row per item (CSV, TSV, Excel, JSON lines, Parquet); unset: "
        "data.root is a folder that `medldr features` wrote",
    )
    path: str = Field(
        "path",
        description="column with the file of each latent: .npy, .npz, .h5 or .pt, its array after "
        "a # where it has several",
    )
    array: Path | None = Field(
        None,
        description="one file with the latents of all rows, in the table's order, in place of a "
        "column of files",
    )
    latents: str | None = Field(
        None, description="column of a Parquet table that holds the latents themselves, as lists"
    )
    bag: Literal["refuse", "mean", "max", "attention"] = Field(
        "refuse",
        description="what the several latents of an item become: their mean, their largest, or, by "
        "attention, a mean by weights that the network learns",
    )
    bag_by: str | None = Field(
        None,
        description="column whose value rows of one item share, such as the patient; their latents "
        "are its bag. In a folder that `medldr features` wrote: group, or one of its further "
        "columns. Unset: each row is an item",
    )
    max_latents: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None,
        description="with bag: attention: latents of an item that a training step sees at most, "
        "drawn anew in each epoch; evaluation sees all",
    )
    views: bool = Field(
        False,
        description="train on the augmented versions of `medldr features --views`, another one "
        "each epoch; validation, test and prediction see the latents themselves",
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.array is not None and self.latents is not None:
            raise ValueError("array and latents both say where the latents are; set one")
        for key in ("array", "latents"):
            if getattr(self, key) is not None and (self.file is None or self.id is None):
                raise ValueError(f"{key} needs file, the table of its rows, and id, their names")
        if self.views and self.file is not None:
            raise ValueError("views are in a folder that `medldr features` wrote: unset file")
        if self.views and self.bag != "refuse":
            raise ValueError("views are versions of single latents: unset bag and bag_by")
        if self.bag_by is not None and self.bag == "refuse":
            raise ValueError(
                f"bag_by makes one item of all rows of a {self.bag_by}: say in bag what their "
                "latents become (mean, max or attention)"
            )
        if self.max_latents is not None and self.bag != ATTENTION:
            raise ValueError("max_latents is about bag: attention; the others use all latents once")
        return self


def load(config: Config) -> ImageTable:
    """Read the table and every latent.

    Raises:
        InputError: If the table or any latent cannot be used, or latents differ in length; names
            file and cure.
    """
    if config.file is None:
        return _stored(config)
    together = _together(config)
    listing = _items(config, together)
    name = config.file.stem
    values, bad = _values(config, listing, together)
    listing, notes = listing.without(bad, name, skip=config.on_bad_file == "skip", what="latents")
    if not listing.multi_label and len(listing.class_names) < 2:
        raise InputError(f"{name} has a single class: there is nothing to tell apart")
    single = "ordinal" if config.ordinal else "multi-class"
    table = _pooled(
        config,
        listing.table(
            name=name,
            task="multi-label" if listing.multi_label else single,
            images=Bags.joined(values),
            notes=tuple(f"{name}: {note}" for note in (*listing.notes, *notes)),
            bad_files=(*listing.skipped, *bad),
        ),
    )
    images = table.images
    latents = images.latents if isinstance(images, Bags) else np.asarray(images)
    hashes = {"images": hashlib.sha256(latents.data).hexdigest(), **_hash_of_bags(images)}
    columns = {key: table.metadata[key] for key in config.columns}
    reading = {"kind": LATENTS, "bag": config.bag}
    return replace(table, hashes=hashes, metadata=columns, reading=reading)


def _pooled(config: Config, table: ImageTable) -> ImageTable:
    """The table of items, of one of rows: rows of one item are joined, and their latents pooled.

    Args:
        config: The keys.
        table: Of `Bags`, or of ``(N, D)``.
    """
    if config.bag_by is not None:
        table = join_rows(table, config.bag_by)
    images = table.images
    if config.bag == ATTENTION:
        bags = images if isinstance(images, Bags) else Bags.single(images)
        bags.most = config.max_latents
        return replace(table, images=bags)
    if not isinstance(images, Bags):
        return table
    if config.bag_by is None:
        return replace(table, images=images.latents)  # which were pooled as they were read
    rows = range(len(table))
    return replace(table, images=np.stack([one_latent(images[row], config.bag) for row in rows]))


def _hash_of_bags(images: Images) -> dict[str, str]:
    """A digest of which latents are in which bag; nothing where each item is one latent."""
    if not isinstance(images, Bags):
        return {}
    order = b"" if images.order is None else images.order.data
    return {"bags": hashlib.sha256(b"".join((images.sizes.data, order))).hexdigest()}


def present(config: Config) -> str:
    """Where the latents are on this machine, or that they are absent."""
    place = config.file or config.root
    if place is None:
        return "your own (set data.root to a folder of `medldr features`, or data.file)"
    return f"in {place}" if place.expanduser().exists() else f"missing ({place})"


def require(config: Config) -> None:
    """Check that table or folder are there, and held-out domains in them; no latent is read.

    Raises:
        InputError: What `load` would raise for these.
    """
    if config.file is not None:
        domains = sorted(set(_items(config).domains.tolist()) - {""})
        check_held_out(config.held_out, config.file.stem, domains)
    elif config.views:
        pack_of_views(pack_of_latents(_folder(config)))
    else:
        _folder(config)


def _folder(config: Config) -> Path:
    if config.root is None:
        raise InputError(
            "data.root is not set: name a folder that `medldr features` wrote, or in data.file a "
            "table of latents"
        )
    folder = config.root.expanduser()
    if not (folder / FACTS).is_file():
        raise InputError(
            f"data.root: {folder} is no folder of latents: it has no {FACTS}. `medldr features` "
            "writes one"
        )
    return folder


def _stored(config: Config) -> ImageTable:
    """The table of a folder that `medldr features` wrote."""
    folder = _folder(config)
    pack = pack_of_latents(folder)
    table = _pooled(config, pack.table())
    check_held_out(config.held_out, table.name, sorted(set(table.domains.tolist()) - {""}))
    encoder = pack.facts.encoder or {}
    hashes = {**table.hashes, "latents": _checksum(pack), **_hash_of_bags(table.images)}
    bag = {} if config.bag == "refuse" else {"bag": config.bag}
    reading = {"kind": LATENTS, "encoder": encoder, **bag}
    table = replace(table, hashes=hashes, reading=reading)
    if not config.views:
        return table
    views = pack_of_views(pack)
    hashes = {**hashes, AUGMENTED: _checksum(views)}
    return replace(table, augmented=views.images, hashes=hashes)


def _checksum(pack: Pack) -> str:
    return hashlib.sha256("".join(pack.facts.blocks).encode()).hexdigest()


def _items(config: Config, together: NDArray[np.float32] | None = None) -> Listing:
    """The rows of the table; as many as there are latents of all rows together, where these are."""
    listed = config.model_dump(include={*ListedConfig.model_fields} - {"name"})
    if config.bag_by is not None:
        assert config.file is not None
        read_sheet(config.file, "data.file", config.sheet).require(config.bag_by, "data.bag_by")
        listed["columns"] = tuple(dict.fromkeys((*config.columns, config.bag_by)))
    place = config.array or config.file
    assert place is not None
    if config.array is None and config.latents is None:
        return list_items(TableConfig(**listed, file=config.file, path=config.path))

    def rows(count: int) -> list[Source | None]:
        if together is not None and (together.ndim != 2 or len(together) != count):
            raise InputError(
                f"data.{'array' if config.array else 'latents'}: {place} holds latents of the "
                f"shape {together.shape}, but the table has {count:,} rows: one latent is needed "
                "for each, in the table's order"
            )
        return [Source(place.expanduser(), f"[{row}]") for row in range(count)]

    return list_items(TableConfig(**listed, file=config.file, path=str(config.id)), rows)


def _values(
    config: Config, listing: Listing, together: NDArray[np.float32] | None
) -> tuple[list[NDArray[np.float32]], list[BadFile]]:
    """The latents ``(n, D)`` of the rows that have usable ones, and why the others have none."""

    def of(part: range) -> list[NDArray[np.float32] | str]:
        return [one(row) for row in part]

    def one(row: int) -> NDArray[np.float32] | str:
        source = listing.sources[row]
        try:
            whole = together[int(source.part[1:-1])] if together is not None else None
            found = latents_of(read_array(source.path, source.part) if whole is None else whole)
            if config.bag == ATTENTION or config.bag_by is not None:
                return found
            return one_latent(found, config.bag)[None]  # now: all latents of all may be too many
        except InputError as error:
            return str(error)

    found: list[NDArray[np.float32] | str] = []
    for part in in_threads(of, len(listing), step=_STEP, title=f"reading {listing.root.name}"):
        found += part
    lengths = [value.shape[1] for value in found if not isinstance(value, str)]
    usual = max(set(lengths), key=lengths.count) if lengths else 0
    bad: list[BadFile] = []
    values: list[NDArray[np.float32]] = []
    for name, value in zip(listing.ids.tolist(), found, strict=True):
        if isinstance(value, str):
            bad.append(BadFile(name, value))
        elif value.shape[1] != usual:
            bad.append(BadFile(name, f"{value.shape[1]} numbers, where most latents have {usual}"))
        else:
            values.append(value)
    return values, bad


def _together(config: Config) -> NDArray[np.float32] | None:
    """The latents of all rows, where one file holds them; None where each row has its own."""
    from medldr.data.listing.typed_tables import read_lists

    if config.array is not None:
        return read_array(config.array.expanduser())
    if config.latents is None:
        return None
    assert config.file is not None
    return read_lists(config.file.expanduser(), config.latents, "data.latents")
