"""Preset ``scan``: X-ray, CT, MR, ultrasound and microscopy, in 2D and 3D, grey or colour.

Pixels to [0, 1], to ``size`` if one is asked for; in training, small turns, zooms and shifts and
small changes of brightness, contrast, gamma and noise; then mean and standard deviation. Evaluation
and prediction are the first and the last step alone. Stored pixels may be of 8 bits or float32.

Left and right. Scans are not mirrored unless ``flip`` names an axis. Organs have sides: a mirrored
chest has its heart on the right and its liver on the left, which is a disease (situs inversus) and
not another view of the same patient, and where the label is a side, mirroring makes it wrong.
Patients with front and back, or head and foot, exchanged do not exist either. Cells, tissue and
skin lesions under a microscope or dermatoscope have neither up nor left, so there every mirror and
every quarter turn is as good an image (``transform/microscopy``).
Volumes are ``(C, X, Y, Z)`` in RAS+: left to right, back to front, foot to head. Pictures are
``(C, H, W)``: top to bottom, left to right. ``left_right`` is X or W, ``front_back`` is Y,
``up_down`` is Z or H. A quarter turn is one of H and W, or of X and Y, within the slices.

Colour is changed in no other way than grey: all channels alike, without hue or saturation.

Source:
    Our choice. The kinds of change are those of nnU-Net (Isensee et al. 2021), which took them from
    segmentation of all kinds of scans; the ranges are smaller, because a class is less robust than
    a contour: size and grey level may be what makes the diagnosis. nnU-Net mirrors along all axes;
    we do not, for the reason above. Zoom and gamma are drawn evenly on a logarithmic scale, all
    else evenly. Shares: every named axis is mirrored in half of the images and the number of
    quarter turns is any of four; ``probability`` is about the rest. Turn, zoom and shift are one
    linear resampling; mirrors and quarter turns only move pixels.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator
from torch import Tensor

from medldr.errors import InputError
from medldr.transforms._resize import Interpolation, resized
from medldr.transforms._scan_changes import DIRECTIONS, Augment, Changes
from medldr.transforms.base import ImageShape, memory_format, repeat_grey, to_unit
from medldr.transforms.medmnist import grey_to

AUGMENTATION = {"id": "scan", "title": "mild, for scans", "published": {}}
"""No published number goes with it, so no setting of it is another than the published one."""

TAKES_FLOAT = True


PerChannel = float | tuple[float, ...]


class Config(Changes):
    """Keys of the preset ``scan``; those of `Changes` act in training."""

    name: Literal["scan"] = "scan"
    size: int | None = Field(
        None, ge=1, description="resize every axis to this length; unset: as stored"
    )
    channels: Literal[3] | None = Field(None, description="3 repeats a grey channel three times")
    mean: PerChannel = Field(
        0.5, description="subtracted from pixels in [0, 1]: one number, or one per channel"
    )
    std: PerChannel = Field(0.5, description="then divides them: one number, or one per channel")
    interpolation: Interpolation = Field("bilinear", description="how images are resized")

    @field_validator("std")
    @classmethod
    def _divides(cls, value: PerChannel) -> PerChannel:
        if not all(one > 0 for one in (value if isinstance(value, tuple) else [value])):
            raise ValueError("every channel is divided by its value, which must be above 0")
        return value


class Rule:
    """Scale, resize, augment training images, repeat the grey channel, normalise."""

    def __init__(self, config: Config, output: ImageShape) -> None:
        self.augment = Augment(config, len(output.spatial_size))
        self.draws = self.augment.draws
        self.channels = config.channels
        self.interpolation = config.interpolation
        self.output = output
        self.mean, self.std = (
            _per_channel(values, key, output)
            for values, key in ((config.mean, "mean"), (config.std, "std"))
        )

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`."""
        # Resized first, so that noise is as strong as asked for in what the network sees.
        unit = resized(to_unit(image), self.output.spatial_size, self.interpolation)
        if train:
            if uniform is None:
                raise ValueError(f"this rule draws {self.draws} numbers per image: give uniform")
            unit = self.augment(unit, uniform)
        scaled = repeat_grey(unit, self.channels).contiguous(
            memory_format=memory_format(unit.ndim - 2)
        )
        # Channel by channel: plain numbers need no copy to the device at every step.
        for channel, mean, std in zip(scaled.unbind(1), self.mean, self.std, strict=True):
            channel.sub_(mean).div_(std)
        return scaled


def _per_channel(values: PerChannel, key: str, output: ImageShape) -> tuple[float, ...]:
    if not isinstance(values, tuple):
        return (values,) * output.channels
    if len(values) != output.channels:
        raise InputError(
            f"transform.{key}: has {len(values)} numbers, but the network's input has "
            f"{output.channels} channels. Give one number, or one per channel; "
            "transform.channels: 3 repeats a grey channel."
        )
    return values


def build(config: Config, shape: ImageShape) -> Rule:
    """The rule for images of this shape.

    Raises:
        InputError: If the images lack an axis that is mirrored, cannot be quarter-turned, or have
            another number of channels than asked for.

    Example:
        >>> rule = build(Config(size=64, channels=3), ImageShape(1, (96, 80, 48)))
        >>> rule.draws, rule.output
        (19, ImageShape(channels=3, spatial_size=(64, 64, 64)))
        >>> build(Config(), ImageShape(1, (96, 80))).draws
        15
    """
    axes = len(shape.spatial_size)
    size = shape.spatial_size if config.size is None else (config.size,) * axes
    unknown = [word for word in config.flip if word not in DIRECTIONS[axes]]
    if unknown:
        raise InputError(
            f"transform.flip: {unknown[0]} is an axis of volumes, and these images are pictures "
            f"({shape}). Name any of {', '.join(DIRECTIONS[axes])}."
        )
    if config.rotate_quarter_turns and size[0] != size[1]:
        raise InputError(
            "transform.rotate_quarter_turns: a quarter turn needs the first two axes to be equally "
            f"long, and these images are {ImageShape(shape.channels, size)}. Set transform.size, "
            "or rotate_quarter_turns: false."
        )
    return Rule(config, ImageShape(grey_to(config.channels, shape.channels), size))
