"""How every scan of a data set becomes an image, with nothing left to be decided per file.

Rules are resolved once, over all files of a data set, so that no file is treated unlike another;
prediction on new files uses the same ones, from the run's record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import TypeAdapter

from medldr.data.scans.config import CropConfig

WINDOWS: Mapping[str, tuple[float, float]] = {
    "ct": (-1000.0, 1000.0),
    "bone": (-500.0, 1300.0),
    "lung": (-1350.0, 150.0),
    "soft_tissue": (-160.0, 240.0),
    "brain": (0.0, 80.0),
}
"""Hounsfield units that become 0 and 1.

Source: the usual levels and widths of radiology (bone 400 / 1800, lung -600 / 1500, soft tissue
40 / 400, brain 40 / 80); `ct` is ours: air to dense bone.
"""


@dataclass(frozen=True)
class Rules:
    """How a scan becomes an image.

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

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Rules as `as_dict` wrote them, also after they were JSON.

        Raises:
            ValueError: If a key is missing, unknown, or has a value of another type.
        """
        return TypeAdapter(cls).validate_python(dict(values))

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for records and for the key of a cache."""
        values = asdict(self)
        values["crop"] = None if self.crop is None else self.crop.model_dump(mode="json")
        return values
