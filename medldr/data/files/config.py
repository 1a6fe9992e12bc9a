"""How scans become images of one size on a scale from 0 to 1: keys of a section, and rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, TypeAdapter, field_validator, model_validator

from medldr.config import Section
from medldr.data.config import DatasetConfig

Window = Literal["auto", "ct", "bone", "lung", "soft_tissue", "brain", "percentile", "file"]
OneWindow = Window | tuple[float, float]

Mm = Annotated[float, Field(gt=0)]
Edge = Annotated[int, Field(ge=1, le=8192)]


class CropConfig(Section):
    """Which part of each scan is kept: around a mask, or around a point."""

    mask: str | None = Field(
        None, description="column with the file of a mask; the scan is cut to what it marks"
    )
    point: tuple[str, ...] | None = Field(
        None, description="columns with the middle of the part: x, y and, in volumes, z"
    )
    point_in: Literal["index", "ras_mm", "lps_mm"] = Field(
        "index",
        description="what the point counts: index from 0 in the scan as it is read (column, row; "
        "in volumes left to right, back to front, foot to head), or mm in the scanner's space as "
        "NIfTI (ras_mm) or DICOM (lps_mm) has it",
    )
    size: tuple[Mm, ...] | None = Field(
        None, description="extent of the part around a point along each axis, in `unit`"
    )
    margin: float = Field(0.0, ge=0, description="added around what a mask marks, in `unit`")
    unit: Literal["mm", "pixel"] = Field("mm", description="unit of size and margin")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.mask is None) == (self.point is None):
            raise ValueError("name a column in crop.mask or columns in crop.point, one of the two")
        if self.point is not None and self.size is None:
            raise ValueError("crop.point needs crop.size, the extent of the part around it")
        if self.point is not None and self.size is not None and len(self.point) != len(self.size):
            raise ValueError(
                f"crop.point names {len(self.point)} columns, but crop.size has {len(self.size)} "
                "numbers; both need one per axis"
            )
        return self


class ScanConfig(DatasetConfig):
    """Keys of every dataset that reads scans."""

    dims: Literal["auto", 2, 3] = Field(
        "auto", description="2: pictures; 3: volumes; auto: what all files are"
    )
    size: Edge | tuple[Edge, ...] | None = Field(
        None,
        description="pixels of each image along each axis (one number: all axes alike); unset: as "
        "recorded, if all are alike",
    )
    spacing: Mm | tuple[Mm, ...] | None = Field(
        None,
        description="mm between pixels to resample to (one number: all axes alike); unset: as "
        "recorded",
    )
    fit: Literal["auto", "resize", "pad"] = Field(
        "auto",
        description="how an image gets its size: resize stretches it, pad adds or cuts its borders "
        "evenly; auto: pad with `spacing`, else resize",
    )
    channels: Literal["auto"] | Annotated[int, Field(ge=1, le=64)] = Field(
        "auto",
        description="channels of each image: 1 makes colour grey, 3 repeats grey; auto: as all "
        "files have, or 3 where only some have colour",
    )
    window: OneWindow | dict[str, OneWindow] = Field(
        "auto",
        description="values that become 0 and 1: a CT window (ct, bone, lung, soft_tissue, brain), "
        "percentile (of each image), file (the window that the file recommends), two numbers, or "
        "auto: ct where the file says CT, percentile where it says MR, NM or PT, by bit_depth "
        "where it has whole numbers from 0 up, else percentile; of several images per item also "
        "one for each column, such as {adc: [0, 3000]}",
    )
    percentiles: tuple[float, float] = Field(
        (0.5, 99.5), description="percentiles of each image that become 0 and 1"
    )
    bit_depth: Literal["auto", 8, 12, 16, "window"] = Field(
        "auto",
        description="bits in use of what is stored with 16: 2^bits - 1 becomes 1; auto: the "
        "fewest of 8, 12 and 16 that hold every value of the whole set; window: percentiles of "
        "each image",
    )
    frame: Literal["error", "first", "middle"] = Field(
        "error",
        description="with dims 2: which frame, page or slice of a file of several is taken; with "
        "error such files are refused",
    )
    ground: Literal["white", "black"] = Field(
        "white", description="colour behind transparent pixels"
    )
    exif: bool = Field(True, description="turn photographs upright, as their camera noted")
    crop: CropConfig | None = Field(None, description="part of each scan that is kept")
    combine: Literal["channels", "views"] | None = Field(
        None,
        description="what several images of an item become: channels of one image, on the grid of "
        "the first; or views, each seen by the same network, whose features are averaged; unset: "
        "channels of volumes, views of pictures",
    )
    align: Literal["resample", "refuse"] = Field(
        "resample",
        description="channels on another grid than the first: resample by what the headers say of "
        "their places, or refuse",
    )
    on_missing: Literal["error", "drop", "zeros"] = Field(
        "error",
        description="items of which an image is missing (an empty cell): error stops, drop leaves "
        "them out, zeros puts zeros in its place (a view is left out of the average) and notes it "
        "in the column `missing`",
    )
    cache: Literal["disk", "memory", "off"] = Field(
        "disk",
        description="where read images are kept: disk (in $MEDLDR_CACHE, shared by runs), memory, "
        "or off (read again whenever needed)",
    )

    @field_validator("window", mode="before")
    @classmethod
    def _names_a_column(cls, value: Any) -> Any:
        if isinstance(value, str) and ":" in value:
            name, _, one = (part.strip(" {}") for part in value.partition(":"))
            raise ValueError(
                f"for one column write {{{name}: {one}}}, with a blank after the colon, or on the "
                f"command line data.window.{name}={one}"
            )
        return value

    @field_validator("window")
    @classmethod
    def _ascends(cls, value: Any) -> Any:
        for one in value.values() if isinstance(value, dict) else [value]:
            if isinstance(one, tuple) and not one[0] < one[1]:
                raise ValueError(f"needs two numbers, the smaller first, not {list(one)}")
        return value

    @field_validator("percentiles")
    @classmethod
    def _are_percentiles(cls, value: tuple[float, float]) -> tuple[float, float]:
        if not 0 <= value[0] < value[1] <= 100:
            raise ValueError(f"needs two percentiles from 0 to 100, not {list(value)}")
        return value


@dataclass(frozen=True)
class Combined:
    """How the images of an item that has several become one.

    Attributes:
        names: Of the images, which are those of their columns.
        combine: See `ScanConfig.combine`.
        align: See `ScanConfig.align`.
        on_missing: See `ScanConfig.on_missing`.
        windows: `Rules.window` of each image.
        bit_depths: `Rules.bit_depth` of each.
    """

    names: tuple[str, ...]
    combine: Literal["channels", "views"]
    align: Literal["resample", "refuse"]
    on_missing: Literal["error", "drop", "zeros"]
    windows: tuple[str | tuple[float, float], ...]
    bit_depths: tuple[Literal[8, 12, 16] | None, ...]

    @property
    def views(self) -> int:
        """How many images a network sees one by one."""
        return len(self.names) if self.combine == "views" else 1


@dataclass(frozen=True)
class Rules:
    """How every scan of a data set becomes an image, with nothing left to be decided per file.

    Attributes:
        dims: 2 for pictures, 3 for volumes.
        channels: Of each image.
        size: Pixels along each axis; None: as recorded.
        spacing: mm between pixels; None: as recorded.
        pad: Whether borders are added or cut to reach `size`; else the image is stretched.
        window: A name or two numbers; see `ScanConfig.window`.
        percentiles: See `ScanConfig.percentiles`.
        bit_depth: Bits in use of what is stored with 16; None: percentiles of each image.
        frame: See `ScanConfig.frame`.
        ground: Colour behind transparent pixels.
        exif: Whether photographs are turned upright.
        crop: Part that is kept.
        eight_bit: Whether images stay uint8 from 0 to 255, because all files are 8-bit pictures;
            else they are float32 from 0 to 1.
        combined: How several images become one item; None where each item is one image.
    """

    dims: Literal[2, 3]
    channels: int
    size: tuple[int, ...] | None
    spacing: tuple[float, ...] | None
    pad: bool
    window: str | tuple[float, float]
    percentiles: tuple[float, float]
    bit_depth: Literal[8, 12, 16] | None
    frame: Literal["error", "first", "middle"]
    ground: Literal["white", "black"]
    exif: bool
    crop: CropConfig | None
    eight_bit: bool
    combined: Combined | None = None

    def of_image(self, number: int) -> Rules:
        """The rules for one of several images, counted from 0."""
        how = self.combined
        assert how is not None
        window, bit_depth = how.windows[number], how.bit_depths[number]
        return replace(self, window=window, bit_depth=bit_depth, combined=None)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Rules as `as_dict` wrote them, also after they were JSON.

        Raises:
            ValueError: If a key is missing, unknown, or has a value of another type.
        """
        return TypeAdapter(cls).validate_python(dict(values))

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for records and for the key of a cache.

        What holds for items of several images is left out where each is one, so that neither
        records nor hashes of these depend on it.
        """
        values = asdict(self)
        if self.combined is None:
            del values["combined"]
        values["crop"] = None if self.crop is None else self.crop.model_dump(mode="json")
        return values
