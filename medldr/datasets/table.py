"""Own scans: a table with a row for each (CSV, Parquet, JSON lines), or folders that say it all.

NIfTI, DICOM files and series, PNG, JPEG, TIFF, BMP, WebP, and NumPy arrays, in 2D or 3D, of any
size and mode. Columns name the path, the label (or several labels), the domain (hospital, scanner),
the group (patient) and the split; further ones divide results. Everything in a table is text as it
is written: ``007``, ``NA`` and ``None`` are values, and only an empty cell is missing.

Every file is read once before training, in parallel, and what was found is remembered by content.
All files of a set become images by one set of rules (`medldr.data.scans.rules`), the same in
training, evaluation and prediction.

Source:
    Our choice throughout; each rule is a key, described there and in `medldr.data.scans`. Volumes
    keep MONAI's order of axes, ``(C, X, Y, Z)`` with RAS+ orientation.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self

import numpy as np
from pydantic import Field, field_validator, model_validator

from medldr.data.image_table import Looks
from medldr.data.reading.ways import SCAN
from medldr.data.scans.config import ScanConfig
from medldr.data.scans.images import ScanImages
from medldr.data.scans.proof import prove_items
from medldr.data.scans.resolve import recorded_size, resolve
from medldr.data.scans.store import stored
from medldr.datasets._domain_folders.names import composed
from medldr.datasets._domain_folders.rows import check_group_pattern
from medldr.datasets._table.columns import Columns
from medldr.datasets._table.describe import Described, describe
from medldr.datasets._table.items import crop_columns, further_columns, sources
from medldr.datasets.base import BadFile, ImageTable, check_held_out
from medldr.errors import InputError
from medldr.types import Task

__all__ = ["Config", "load", "present", "require"]

Level = Literal["split", "domain", "label", "group"]

_LISTED: Final = 10
_SAY_NOTHING: Final = frozenset(
    {*("data", "dataset", "images", "index", "label", "labels", "meta", "metadata", "scans")}
    | {"table", "train"}
)
"""Names of tables; their folders' names say more."""
_NO_GROUPS: Final = (
    "no patients are named (data.group or data.group_pattern): splits may divide a patient's "
    "images, and 95% CIs count images as independent."
)


class Config(ScanConfig):
    """Keys of the dataset ``table``."""

    name: Literal["table"] = "table"
    set: str | None = Field(
        None,
        description="name of the data set in reports and beside published numbers; unset: that of "
        "its table or folder",
    )
    file: Path | None = Field(
        None,
        description="table with a row per scan (CSV, TSV, JSON lines, Parquet), or an npz archive "
        "with arrays such as train_images and train_labels",
    )
    folders: tuple[Level, ...] = Field(
        (),
        description="without a table: what the levels of folders below data.root mean, for example "
        "[domain, label]",
    )
    path: str = Field("path", description="column with the file, or folder of slices, of each scan")
    label: str | tuple[str, ...] = Field(
        "label", description="column of the class; a list of columns: several labels, each 0 or 1"
    )
    domain: str | None = Field(None, description="column of the hospital, scanner or laboratory")
    group: str | None = Field(None, description="column of the patient, whom no split divides")
    split: str | None = Field(None, description="column of the split; unset: splits are made")
    id: str | None = Field(None, description="column of the name of each scan; unset: its path")
    columns: tuple[str, ...] = Field(
        (), description="further columns that results are divided by, such as sex or age"
    )
    classes: tuple[str, ...] | None = Field(
        None, description="all classes in the order of their numbers; unset: those found, sorted"
    )
    ordinal: bool = Field(False, description="classes are grades, in the order of their numbers")
    uncertain: Literal["missing", "positive", "negative"] = Field(
        "missing", description="what -1 means where there are several labels"
    )
    on_missing_label: Literal["error", "skip"] = Field(
        "error", description="rows without a label: error stops, skip leaves them out"
    )
    group_pattern: str | None = Field(
        None,
        description="regular expression searched in the path, in place of data.group; its first "
        "group is the patient",
    )
    group_scope: Literal["all", "domain"] = Field(
        "all",
        description="where equal group names mean the same patient: everywhere, or within a domain",
    )

    @field_validator("columns", "folders", mode="before")
    @classmethod
    def _one_name_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("folders")
    @classmethod
    def _levels(cls, value: tuple[Level, ...]) -> tuple[Level, ...]:
        if value and ("label" not in value or len(set(value)) < len(value)):
            raise ValueError(f"needs label, and each level once, not {list(value)}")
        return value

    @field_validator("held_out")
    @classmethod
    def _as_domains_are_named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(map(composed, value))))

    @field_validator("group_pattern")
    @classmethod
    def _has_a_group(cls, value: str | None) -> str | None:
        if value is not None:
            check_group_pattern(value)
        return value

    @model_validator(mode="after")
    def _one_source_of_groups(self) -> Self:
        if self.group_pattern is not None and (self.group or "group" in self.folders):
            raise ValueError("group_pattern and group both say who the patient is; set one")
        return self


def load(config: Config) -> ImageTable:
    """Read the table, every file, and make images of them.

    Raises:
        InputError: If the table or any file cannot be used as the keys ask; names file and cure.
    """
    described = describe_rows(config)
    name = data_name(config)
    root = config.root or (config.file.parent if config.file is not None else Path())
    items = sources(described, config.crop, root.expanduser())
    proven = prove_items(items, described.ids.tolist(), config, name)
    kept = [row for row, one in enumerate(proven) if not one.reason]
    bad = tuple(
        BadFile(str(described.ids[row]), one.reason) for row, one in enumerate(proven) if one.reason
    )
    _refuse_bad(config, name, bad, len(proven))
    ids = [str(described.ids[row]) for row in kept]
    facts = [proven[row].known for row in kept]
    rules, rule_notes = resolve(config, dict(zip(ids, facts, strict=True)), name)
    images = ScanImages(
        [items[row] for row in kept],
        [proven[row].content for row in kept],
        rules,
        rules.size or recorded_size(facts[0], rules),
    )
    notes = [*described.notes, *rule_notes]
    if not (described.groups != "").any():
        notes.append(_NO_GROUPS)
    if bad:
        notes.append(
            f"{len(bad):,} of {len(proven):,} items were left out because they cannot be used "
            "(data.on_bad_file=skip); this changes the seeded split of the others."
        )
    chosen = np.array(kept, dtype=np.int64)
    return ImageTable(
        name=name,
        task=_task(config, described),
        class_names=described.class_names,
        images=stored(images, config.cache, name),
        labels=described.labels[chosen],
        ids=described.ids[chosen],
        splits=described.splits[chosen],
        domains=described.domains[chosen],
        groups=described.groups[chosen],
        notes=tuple(f"{name}: {note}" for note in notes),
        hashes={"images": images.stamp},
        bad_files=(*described.skipped, *bad),
        metadata={
            key: column[chosen] for key, column in further_columns(described, config.crop).items()
        },
        looks=Looks({item: proven[row].look for item, row in zip(ids, kept, strict=True)}),
        facts=tuple(facts),
        unused=described.unused,
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
    described = describe_rows(config)
    domains = sorted(set(described.domains.tolist()) - {""})
    check_held_out(config.held_out, data_name(config), domains)


def describe_rows(config: Config) -> Described:
    """Read and check the text of the table, or the names of a tree; no scan is opened.

    Raises:
        InputError: If anything of it is missing, contradictory or unclear.
    """
    columns = Columns(
        path=config.path,
        label=config.label,
        domain=config.domain,
        group=config.group,
        split=config.split,
        id=config.id,
        columns=config.columns,
        select=crop_columns(config.crop),
    )
    return describe(
        config.file,
        config.root,
        columns,
        folders=config.folders,
        classes=config.classes,
        uncertain=config.uncertain,
        on_missing_label=config.on_missing_label,
        on_bad_file=config.on_bad_file,
        group_pattern=config.group_pattern,
        group_scope=config.group_scope,
    )


def _task(config: Config, described: Described) -> Task:
    if described.multi_label:
        if config.ordinal:
            raise InputError("data.ordinal: grades need one label column, but several are named")
        return "multi-label"
    if len(described.class_names) < 2:
        raise InputError(
            f"{data_name(config)} has a single class, {described.class_names[0]!r}: there is "
            "nothing to tell apart. Check data.label"
        )
    return "ordinal" if config.ordinal else "multi-class"


def _refuse_bad(config: Config, name: str, bad: Sequence[BadFile], total: int) -> None:
    if not bad or (config.on_bad_file == "skip" and len(bad) < total):
        return
    listed = "\n  ".join(f"{file.path}: {file.reason}" for file in bad[:_LISTED])
    more = f"\n  and {len(bad) - _LISTED:,} more" if len(bad) > _LISTED else ""
    cure = "Put intact files in their place, or change the keys that are named"
    if config.on_bad_file != "skip":
        cure += ", or leave them out with data.on_bad_file=skip"
    raise InputError(
        f"{name}: {len(bad):,} of {total:,} items cannot be used:\n  {listed}{more}\n{cure}"
    )


CONTRACT_KEYS = {"folders": ["domain", "label"], "size": 8, "cache": "memory"}
