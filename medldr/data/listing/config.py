"""Keys that say what the columns of a table mean, the same for scans and for latents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from medldr.data.config import DatasetConfig, Names


class ListedConfig(DatasetConfig):
    """Keys of every dataset whose items are listed in a table of the user's own."""

    sheet: str | None = Field(None, description="sheet of a workbook; unset: the first")
    label: str | tuple[str, ...] = Field(
        "label", description="column of the class; a list of columns: several labels, each 0 or 1"
    )
    domain: str | None = Field(None, description="column of the hospital, scanner or laboratory")
    group: str | None = Field(None, description="column of the patient, whom no split divides")
    split: str | None = Field(None, description="column of the split; unset: splits are made")
    id: str | None = Field(None, description="column of the name of each item; unset: its path")
    columns: Names = Field(
        (), description="further columns that results are divided by, such as sex or age"
    )
    classes: tuple[str, ...] | None = Field(
        None, description="all classes in the order of their numbers; unset: those found, sorted"
    )
    ordinal: bool = Field(False, description="classes are grades, in the order of their numbers")
    on_bad_file: Literal["error", "skip"] = Field(
        "error",
        description="files that cannot be used: error stops; skip leaves them out and lists them",
    )
