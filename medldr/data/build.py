"""From a configuration to the data of a run: table, splits, specification, loaders."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.config import RunConfig
from medldr.config.training_options import ClassWeights
from medldr.data.bags import Bags
from medldr.data.card import read_card
from medldr.data.checks.duplicates import divided_twins
from medldr.data.checks.group_labels import stray_labels
from medldr.data.checks.missing_images import missing_images
from medldr.data.checks.table_checks import check_table
from medldr.data.config import DatasetConfig
from medldr.data.files.read import READER
from medldr.data.hashes import (
    PARTS,
    hash_metadata,
    hash_part,
    hash_parts,
    hash_rows,
    hash_splits,
    hash_table,
)
from medldr.data.image_table import ImageTable, LazyImages
from medldr.data.listing.tables import sheet_of_book
from medldr.data.load import load_table_and_pack, whole_at_input_size
from medldr.data.loading.class_weights import class_weights
from medldr.data.loading.loaders import Columns, EvalLoader, TrainLoader
from medldr.data.loading.pixels import Pixels
from medldr.data.loading.samplers import build_sampler
from medldr.data.metadata import add_metadata
from medldr.data.spec import (
    columns,
    input_pipeline,
    names_in,
    positive_class_notes,
    specify,
)
from medldr.data.splits.make import make_splits, selection_split
from medldr.data.splits.target_parts import target_parts
from medldr.data.store import Pack
from medldr.errors import InputError, did_you_mean, some
from medldr.folders.files import checksum
from medldr.transforms import Pipeline
from medldr.types import DataSpec

_LOOKED_AT_UP_TO: Final = 1 << 30
"""Bytes; `medldr data check` and `pack` look at every image of any set."""


@dataclass(frozen=True)
class Data:
    """The data of one run.

    Attributes:
        spec: What model and algorithm need to know.
        table: All images and what is known of each.
        rows: Row numbers of each split that has any, ascending.
        parts: Rows of ``target_in`` and ``target_out``, which together are ``test`` where domains
            are held out; empty where none is.
        pipeline: From stored pixels to the network's input.
        notes: What readers of any result from this data should know.
        data_hash: sha256 over images, labels and ids (over the files' checksums where known).
        split_hash: sha256 over the ids of each split.
        pack: The pack that the images are read from; None where there is none.
        files: Checksum of each file read, by name.
        card: The filled entries of the data card; None without one.
        pixels: The images.
        augmented: What training sees in their place; see `ImageTable.augmented`.
    """

    spec: DataSpec
    table: ImageTable
    rows: dict[str, NDArray[np.int64]]
    parts: dict[str, NDArray[np.int64]]
    pipeline: Pipeline
    notes: tuple[str, ...]
    data_hash: str
    split_hash: str
    pack: Path | None
    files: Mapping[str, str]
    card: Mapping[str, Any] | None
    pixels: Pixels
    augmented: Pixels | None
    _columns: Columns

    @property
    def selection_split(self) -> str | None:
        """The split that chooses the model: ``val``, else ``id_val``; None without either."""
        return selection_split(self.rows)

    def trained_by(self, config: RunConfig) -> Data:
        """The same data, with what the reported weights are trained on as training rows."""
        return self.with_validation() if config.training.trains_on_validation else self

    def with_validation(self) -> Data:
        """The same data whose validation images are training images, too.

        Class counts and source domains are those of the larger training split.
        """
        trained = [split for split in PARTS["training"] if split in self.rows]
        train = np.unique(np.concatenate([self.rows[split] for split in trained]))
        judged = {split: of for split, of in self.rows.items() if split not in trained}
        rows = {"train": train, **judged}
        spec = specify(self.table, train, self.pipeline.output)
        return replace(
            self,
            spec=spec,
            rows=rows,
            split_hash=hash_splits(self.table, rows),
            _columns=columns(self.table, spec),
        )

    @functools.cached_property
    def parts_hashes(self) -> dict[str, dict[str, str]]:
        """See `medldr.data.hashes.hash_parts`."""
        return hash_parts(self.table, self.rows)

    def hashes(self) -> dict[str, str | None]:
        """One number each for `run.json`: of all data, its splits, what trains and what judges."""
        parts = {part: hash_part(columns) for part, columns in self.parts_hashes.items()}
        return {
            "data_hash": self.data_hash,
            "split_hash": self.split_hash,
            "train_data_hash": parts["training"],
            "test_data_hash": parts.get("judged"),
        }

    def record(self) -> dict[str, Any]:
        """What `run.json` says of the data."""
        groups = {split: self.table.groups[rows] for split, rows in self.rows.items()}
        return {
            "name": self.table.name,
            "notes": list(self.notes),
            "files": dict(self.files),
            "pack": None if self.pack is None else str(self.pack),
            "images": {split: len(rows) for split, rows in self.rows.items()},
            "groups": {split: len(names_in(column)) for split, column in groups.items()},
            "subset_hash": hash_rows(self.table, self.rows["train"]),
            "card": None if self.card is None else dict(self.card),
            "reading": None if self.table.reading is None else dict(self.table.reading),
            "reader": READER,
            "parts": self.parts_hashes,
            "described": hash_metadata(self.table),
        }

    def manifest(self) -> dict[str, Any]:
        """Which items each split holds, and of which groups they are, for the run folder."""
        groups = {name: self.table.groups[rows].tolist() for name, rows in self.rows.items()}
        return {
            "dataset": self.table.name,
            "data_hash": self.data_hash,
            "split_hash": self.split_hash,
            "splits": {name: self.table.ids[rows].tolist() for name, rows in self.rows.items()},
            "parts": {name: self.table.ids[rows].tolist() for name, rows in self.parts.items()},
            "left_out": self.table.ids[self._left_out()].tolist(),
            **({"groups": groups} if any(map(any, groups.values())) else {}),
        }

    def _left_out(self) -> NDArray[np.int64]:
        used = [np.empty(0, np.int64), *self.rows.values()]
        return np.setdiff1d(np.arange(len(self.table)), np.concatenate(used))

    def train_loader(
        self,
        config: RunConfig,
        *,
        sampler: str,
        device: torch.device | str,
        rank: int = 0,
        world: int = 1,
        views: tuple[str, ...] = (),
        domains_per_batch: int | None = None,
        batches_per_step: int = 1,
    ) -> TrainLoader:
        """Batches of the training rows.

        Args:
            config: The run; batch size, ``drop_last``, seed and workers are read.
            sampler: ``shuffle``, ``weighted`` or ``domains``.
            device: Device of the batches.
            rank: Number of this process.
            world: Number of processes.
            views: Names of extra augmented views of each image.
            domains_per_batch: With ``domains``: how many source domains a batch holds; None: all.
            batches_per_step: How many times the batch size a batch has.

        Raises:
            InputError: If batch size, sampler or views do not suit the data.
        """
        rows = self.rows["train"]
        chosen = build_sampler(
            sampler,
            labels=self.table.labels[rows],
            domains=self._columns.domain.numpy()[rows],
            batch_size=config.training.batch_size,
            batch_per_domain=config.training.batch_per_domain,
            drop_last=config.training.drop_last,
            seed=config.seed,
            world=world,
            domain_names=self.spec.train_domains,
            domains_per_batch=domains_per_batch,
            batches_per_step=batches_per_step,
        )
        return TrainLoader(
            pixels=self.pixels,
            augmented=self.augmented,
            columns=self._columns,
            pipeline=self.pipeline,
            sampler=chosen,
            rows=rows,
            seed=config.seed,
            device=torch.device(device),
            rank=rank,
            world=world,
            workers=config.machine.workers,
            views=views,
        )

    def eval_loader(
        self,
        split: str,
        config: RunConfig,
        *,
        device: torch.device | str,
        rank: int = 0,
        world: int = 1,
        domain: str | None = None,
        most: int | None = None,
        only: NDArray[np.int64] | None = None,
    ) -> EvalLoader:
        """All rows of a split in row order; this process's part, without padding.

        Args:
            split: A split, or a part of the held-out domains (``target_in``, ``target_out``).
            config: The run; batch size and workers are read.
            device: Device of the batches.
            rank: Number of this process.
            world: Number of processes.
            domain: Only rows of this domain; None: of all.
            most: Only so many rows, evenly spaced in their order; None: all.
            only: Only these rows, ascending; None: all.

        Raises:
            InputError: If the data has no such split or part, or no row of the domain in it.
        """
        splits = {**self.rows, **self.parts}
        if split not in splits:
            raise InputError(
                f"{self.table.name} has no split {split!r}.{did_you_mean(split, splits)} "
                f"Splits: {', '.join(splits)}"
            )
        rows = splits[split] if only is None else np.intersect1d(splits[split], only)
        if domain is not None:
            domains = self.table.domains[rows]
            if domain not in domains:
                names = names_in(domains)
                raise InputError(
                    f"{split} of {self.table.name} has no domain {domain!r}."
                    f"{did_you_mean(domain, names)} Domains: {some(names) or '(none)'}"
                )
            rows = rows[domains == domain]
        if most is not None and len(rows) > most:
            rows = rows[np.linspace(0, len(rows) - 1, most).round().astype(np.int64)]
        return EvalLoader(
            pixels=self.pixels,
            columns=self._columns,
            pipeline=self.pipeline,
            split=split,
            rows=rows,
            batch_size=config.evaluation.batch_size,
            device=torch.device(device),
            rank=rank,
            world=world,
            workers=config.machine.workers,
            augmented=self._augmented(split, rows, config),
            seed=config.seed,
        )

    def _augmented(
        self, split: str, rows: NDArray[np.int64], config: RunConfig
    ) -> NDArray[np.bool_] | None:
        """Which rows are scored with the training augmentation, as some protocols have it."""
        wanted = getattr(config.transform, "augment_validation", False)
        if not wanted or split not in ("val", "id_val"):
            return None
        if not self.spec.train_domains:
            return np.ones(len(rows), dtype=bool)
        return self._columns.domain.numpy()[rows] >= 0

    def class_weights(self, setting: ClassWeights | None) -> Tensor | None:
        """Weights for ``training.class_weights``; see `medldr.data.loading.class_weights`."""
        return class_weights(setting, self.spec)


def build_data(config: RunConfig) -> Data:
    """Everything the later stages need to know about the data.

    Raises:
        InputError: If the data cannot be read, split or transformed as asked.
    """
    section = cast(DatasetConfig, config.data).with_seed(config.seed)
    table, pack = load_table_and_pack(section)
    files = dict(table.hashes)
    if section.metadata is not None:
        table = add_metadata(table, section.metadata, config.evaluation)
        files["data.metadata"] = checksum(sheet_of_book(section.metadata)[0])
    table = whole_at_input_size(table, config.transform)
    rows, split_notes = make_splits(table, section)
    pipeline = input_pipeline(table, config.transform)
    spec = specify(table, rows["train"], pipeline.output)
    class_weights(config.training.class_weights, spec)  # an error now, not at step 1
    return Data(
        spec=spec,
        table=table,
        rows=rows,
        parts=target_parts(table, rows.get("test", np.empty(0, np.int64)), section),
        pipeline=pipeline,
        notes=(
            *table.notes,
            *positive_class_notes(table, config.evaluation.positive_class),
            *_findings(table, pack),
            *stray_labels(table.labels, table.groups),
            *divided_twins(table, {"": rows}),
            *split_notes,
            *missing_images(table, rows),
            *_decoding_note(table, config.machine.workers),
        ),
        data_hash=hash_table(table),
        split_hash=hash_splits(table, rows),
        pack=None if pack is None else pack.folder,
        files=files,
        card=None if section.card is None else read_card(section.card),
        pixels=Pixels(table.images),
        augmented=None if table.augmented is None else Pixels(table.augmented),
        _columns=columns(table, spec),
    )


def _findings(table: ImageTable, pack: Pack | None) -> tuple[str, ...]:
    """Findings from reading every image: as recorded when that was done, or now if it is quick."""
    if pack is not None:
        return pack.facts.findings
    images = table.images
    in_memory = isinstance(images, np.ndarray) and not isinstance(images, np.memmap)
    in_memory |= isinstance(images, Bags) and images.in_memory
    quick = table.looks is not None or (in_memory and images.nbytes < _LOOKED_AT_UP_TO)
    return tuple(check_table(table)) if quick else ()


def _decoding_note(table: ImageTable, workers: int) -> tuple[str, ...]:
    """How pictures could be read faster, where training would wait for them."""
    if workers or not isinstance(table.images, LazyImages) or isinstance(table.images, Bags):
        return ()
    return (
        f"{table.name} is decoded by the training process itself: set machine.workers to decode "
        "ahead of it, or decode everything once with `medldr data pack`",
    )
