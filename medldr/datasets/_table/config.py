"""Keys of the dataset ``table``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from medldr.data.config import one_is_a_list
from medldr.data.files.config import ScanConfig
from medldr.data.listing.config import ListedConfig
from medldr.data.listing.names import GroupPattern, GroupScope, as_domains_are_named
from medldr.data.listing.trees import fault_of_levels
from medldr.errors import did_you_mean

Level = Literal["split", "domain", "label", "group"]


class Config(ScanConfig, ListedConfig):
    """Keys of the dataset ``table``."""

    name: Literal["table"] = "table"
    set: str | None = Field(
        None,
        description="name of the data set in reports and beside published numbers; unset: that of "
        "its table or folder",
    )
    file: Path | None = Field(
        None,
        description="table with a row per scan (CSV, TSV, Excel, JSON lines, Parquet), or an npz "
        "archive with arrays such as train_images and train_labels",
    )
    folders: Annotated[tuple[Level, ...], BeforeValidator(one_is_a_list)] = Field(
        (),
        description="without a table: what the levels of folders below data.root mean, for example "
        "[domain, label]",
    )
    path: str | tuple[str, ...] = Field(
        "path",
        description="column with the file, or folder of slices, of each scan, or columns in braces "
        "that make up its path, such as img/{hospital}/{file}; a list of columns: several images "
        "of each item, such as [t2w, adc]; with `case` or `folders`, names of the images that "
        "files number in nnU-Net's way (case_0000.nii.gz, case_0001.nii.gz)",
    )
    case: str | None = Field(
        None,
        description="column with the names of cases, whose files are numbered in nnU-Net's way: "
        "case_001 for case_001_0000.nii.gz; takes the place of columns with files",
    )
    uncertain: Literal["missing", "positive", "negative"] = Field(
        "missing", description="what -1 means where there are several labels"
    )
    on_missing_label: Literal["error", "skip"] = Field(
        "error", description="rows without a label: error stops, skip leaves them out"
    )
    group_pattern: GroupPattern | None = Field(
        None,
        description="regular expression searched in the path, in place of data.group; its first "
        "group is the patient",
    )
    group_scope: GroupScope = "all"

    @field_validator("folders")
    @classmethod
    def _levels(cls, value: tuple[Level, ...]) -> tuple[Level, ...]:
        fault = fault_of_levels(value) if value else ""
        if fault:
            raise ValueError(fault)
        return value

    @field_validator("path")
    @classmethod
    def _images(cls, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(value, str) or len(value) == 1:
            return value if isinstance(value, str) else value[0]
        if not value or len(set(value)) < len(value):
            raise ValueError(f"needs one column or several different ones, not {list(value)}")
        return value

    @model_validator(mode="after")
    def _cases_of_a_table(self) -> Self:
        if self.case is not None and self.folders:
            raise ValueError("case names a column of a table; with folders, leave it out")
        return self

    _held_out = field_validator("held_out")(as_domains_are_named)

    @model_validator(mode="after")
    def _one_source_of_groups(self) -> Self:
        if self.group_pattern is not None and (self.group or "group" in self.folders):
            raise ValueError("group_pattern and group both say who the patient is; set one")
        return self

    @model_validator(mode="after")
    def _several_images(self) -> Self:
        fields = type(self).model_fields
        keys = ("combine", "align", "on_missing")
        said = [key for key in keys if getattr(self, key) != fields[key].default]
        if said and not self.images:
            raise ValueError(f"{said[0]} is about several images per item: list them in path")
        unknown = set(self.window) - set(self.images) if isinstance(self.window, dict) else ()
        for name in unknown:
            raise ValueError(
                f"window names {name!r}, which is no column of path."
                f"{did_you_mean(name, self.images)} Columns of several images: "
                f"{', '.join(self.images) or 'none'}"
            )
        return self

    @property
    def images(self) -> tuple[str, ...]:
        """Columns of the images of each item, where it has several."""
        return () if isinstance(self.path, str) else self.path

    @property
    def crop_columns(self) -> tuple[str, ...]:
        """Columns that say which part of a scan is kept."""
        if self.crop is None:
            return ()
        return (self.crop.mask,) if self.crop.mask is not None else self.crop.point or ()
