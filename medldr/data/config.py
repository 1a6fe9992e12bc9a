"""Keys of the section `data` that every dataset has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, field_validator

from medldr.config import PluginSection
from medldr.config.section import Section
from medldr.errors import InputError, did_you_mean


def one_is_a_list(value: Any) -> Any:
    """A list of one text where a text stands for it, before anything is checked."""
    return [value] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(one_is_a_list)]
"""Texts; one may stand alone."""


class ImbalanceConfig(Section):
    """A long-tailed training set; see `medldr.data.splits.long_tail`."""

    factor: float = Field(ge=1, description="rows of the largest class over those of the smallest")
    kind: Literal["exp", "step"] = Field(
        "exp",
        description="exp: sizes fall exponentially from class to class; step: half of the classes "
        "are large, the others small",
    )
    order: Literal["count", "label"] = Field(
        "count",
        description="which class is large: count: the one with most rows; label: the first one",
    )
    largest: Annotated[int, Field(ge=1, strict=True)] | None = Field(
        None, description="rows of the largest class; unset: as many as the other classes allow"
    )
    seed: int = Field(
        0, ge=0, lt=2**32, strict=True, description="seed of the choice of rows, not the run's"
    )


class DatasetConfig(PluginSection):
    """Keys that every dataset has."""

    root: Path | None = Field(None, description="folder of the files; unset: $MEDLDR_DATA")
    download: bool = Field(False, description="download missing files from the network")
    packed: Literal["auto", "off"] | Path = Field(
        "auto",
        description="folder that `medldr data pack` made; auto: the one in its usual place, if any",
    )
    held_out: Names = Field((), description="domains excluded from training and validation")
    held_out_rows: Literal["all", "test"] | None = Field(
        None,
        description="rows of held-out domains to test on: all, or the dataset's own test rows; "
        "unset: its own test rows where the dataset has splits, else all",
    )
    split_rule: Literal["stratified", "domainbed"] = Field(
        "stratified",
        description="where the dataset has no splits of its own: stratified parts that keep groups "
        "whole, or DomainBed's division of each domain",
    )
    split_seed: Annotated[int, Field(ge=0, strict=True)] | Literal["seed"] = Field(
        0, description="seed of the splits, separate from the run's; seed: use the run's"
    )
    val_fraction: float = Field(
        0.15,
        gt=0,
        lt=1,
        description="validation fraction, where the dataset has no validation split",
    )
    test_fraction: float = Field(
        0.15, ge=0, lt=1, description="test fraction, where the dataset has no splits of its own"
    )
    manifest: Path | None = Field(
        None,
        description="file of splits that `medldr data split` wrote, used in place of any other; "
        "its content identifies the run, not where it lies",
    )
    fold: str | None = Field(
        None,
        description="fold of data.manifest: its number from 0, or the domain that it leaves out",
    )
    train_fraction: float = Field(1.0, gt=0, le=1, description="fraction of the training rows used")
    imbalance: ImbalanceConfig | None = Field(
        None,
        description="make the training rows long-tailed, such as {factor: 100}; validation and "
        "test rows stay as they are",
    )
    exclude: Names = Field((), description="ids of items or groups to leave out")
    class_names: tuple[str, ...] | None = Field(
        None, description="class names to show instead of the dataset's"
    )
    metadata: Path | None = Field(
        None,
        description="table (CSV, Excel, BOOK.xlsx#SHEET ...) with a column id (item) or group "
        "(patient) and further columns such as sex, age or device, whose values become subgroups",
    )
    card: Path | None = Field(
        None,
        description="YAML file on where the data come from; `medldr data card` prints one to fill",
    )
    allow_missing_classes: bool = Field(
        False, description="continue, with a note, if a class has no training rows"
    )

    @field_validator("held_out")
    @classmethod
    def _order_never_matters(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(value)))

    def with_seed(self, seed: int) -> Self:
        """The section with the seed of its splits as a number, for a run of this seed."""
        own = seed if self.split_seed == "seed" else self.split_seed
        return self.model_copy(update={"split_seed": own})


def check_held_out(held_out: Sequence[str], dataset: str, domains: Sequence[str]) -> None:
    """Refuse held-out domains that the dataset lacks, or that leave none to train on.

    Args:
        held_out: Value of ``data.held_out``.
        dataset: Its name, for messages.
        domains: Names of all domains there are.

    Raises:
        InputError: With the nearest name and all known ones.
    """
    if held_out and not domains:
        raise InputError(f"data.held_out: {dataset} has no domains, so none can be held out")
    for name in held_out:
        if name not in domains:
            several = re.split(r"[,; ]+", name)
            near = (
                f" Several are a list: data.held_out=[{','.join(several)}]."
                if set(several) <= set(domains)
                else did_you_mean(name, domains)
            )
            raise InputError(
                f"data.held_out: {dataset} has no domain {name!r}.{near} "
                f"Domains: {', '.join(domains)}"
            )
    if held_out and set(held_out) >= set(domains):
        raise InputError(
            f"data.held_out: every domain of {dataset} is held out, leaving none to train "
            f"on. Domains: {', '.join(domains)}"
        )
