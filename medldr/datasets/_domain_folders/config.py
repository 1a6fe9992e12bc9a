"""Keys of the dataset ``domain_folders``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from medldr.data.listing.names import GroupPattern, GroupScope, as_domains_are_named
from medldr.datasets.base import DatasetConfig


class Config(DatasetConfig):
    """Keys of the dataset ``domain_folders``."""

    name: Literal["domain_folders"] = "domain_folders"
    set: Literal["pacs", "vlcs", "office_home", "terra_incognita", "domain_net"] | None = Field(
        None, description="which known data set the tree holds; null: any tree"
    )
    size: int | None = Field(
        224,
        ge=8,
        le=4096,
        description="edge in pixels to which each picture is resized (not cropped); null: training "
        "cuts its crops from each picture at its own size, and whole pictures are resized to "
        "transform.size",
    )
    blacklist: Path | None = Field(
        None, description="text file of pictures to leave out, one path domain/class/image per line"
    )
    group_pattern: GroupPattern | None = Field(
        None,
        description="regular expression, searched in the path after the class; its first group is "
        "the patient or other unit that no split divides",
    )
    group_scope: GroupScope = "all"
    on_bad_file: Literal["error", "skip"] = Field(
        "error", description="broken pictures: error stops; skip leaves them out and lists them"
    )
    ground: Literal["white", "black"] = Field(
        "white", description="own pictures: colour behind transparent pixels"
    )
    exif: bool = Field(True, description="own pictures: turn them upright, as their camera noted")
    bit_depth: Literal["auto", 8, 12, 16, "window"] = Field(
        "auto",
        description="own pictures stored with 16 bits: 2^bits - 1 becomes white; auto: the fewest "
        "of 8, 12 and 16 that hold every value of the whole tree; window: percentiles of each",
    )

    _held_out = field_validator("held_out")(as_domains_are_named)

    @model_validator(mode="after")
    def _published_codes_decide(self) -> Self:
        for key in ("ground", "exif", "bit_depth") if self.set is not None else ():
            if getattr(self, key) != type(self).model_fields[key].default:
                raise ValueError(
                    f"data.{key} is for pictures of one's own: those of {self.set} are read as "
                    f"published codes read them. Remove data.{key}, or read the tree as one's own "
                    "with data.set=null"
                )
        return self
