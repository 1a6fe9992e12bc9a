"""Preset ``contrast_views``: strong changes of colour pictures, for views that are contrasted.

In training a random part of each picture is resized to ``size`` and mirrored or not; the colours
of most are changed, some are made grey, some blurred. Evaluation and prediction resize the whole
picture. Both end with a normalisation, which must be the images' own.

Meant for ``transform.views``: two views of one picture shall differ in all but what it shows.
Colour is then no longer a cue, so not for stains, skin or anything else whose colour is the
finding; for scans leave ``transform.views`` unset, and views are other draws of the images' own
augmentation.

Source:
    The contrast views of BCL (Zhu et al. 2022): resized crop, mirror, colour jitter 0.4 / 0.4 / 0.4
    / 0.1 in 0.8 of the pictures, grey in 0.2. On CIFAR a third party's reproduction (CUDA, Ahn et
    al. 2023), whose crop covers 0.2 to 1 of the picture and which then blurs half of the pictures
    with a standard deviation of 0.1 to 2 pixels; these are the defaults. BCL's own code on larger
    pictures crops from 0.08 on and does not blur. Both come from SimCLR and MoCo v2.
    Our choice: numbers come from (seed, epoch, index, view) alone; nothing is rounded to 8 bits;
    the blur is torchvision's, of a kernel of three standard deviations to each side and with
    mirrored borders, where Pillow approximates it and repeats the border.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.errors import InputError
from medldr.transforms import _colour_jitter, _resized_crop
from medldr.transforms._colour import ColourConfig, ColourRule, check_colour
from medldr.transforms._colour_jitter import ColourJitter
from medldr.transforms._resized_crop import Range, Scale, crop_and_mirror
from medldr.transforms.base import ImageShape


class Config(ColourConfig):
    """Keys of the preset ``contrast_views``."""

    name: Literal["contrast_views"] = "contrast_views"
    size: int | None = Field(
        None, ge=1, description="edge length of the network's input in pixels; unset: as stored"
    )
    crop_scale: Scale = Field(
        (0.2, 1.0), description="area of the training crop as a fraction of the picture: from, to"
    )
    crop_ratio: Range = Field(
        (3 / 4, 4 / 3), description="aspect ratio (width / height) of the crop: from, to"
    )
    flip: float = Field(0.5, ge=0, le=1, description="share of training pictures mirrored")
    jitter: float = Field(0.8, ge=0, le=1, description="share of those with changed colours")
    brightness: float = Field(0.4, ge=0, description="largest deviation of its factor from 1")
    contrast: float = Field(0.4, ge=0, description="largest deviation of its factor from 1")
    saturation: float = Field(0.4, ge=0, description="largest deviation of its factor from 1")
    hue: float = Field(0.1, ge=0, le=0.5, description="largest shift of the hue; 1 is a full turn")
    grey: float = Field(0.2, ge=0, le=1, description="share of training pictures made grey")
    blur: float = Field(0.5, ge=0, le=1, description="share of training pictures blurred")
    blur_sigma: Range = Field(
        (0.1, 2.0), description="standard deviation of the blur in pixels: from, to"
    )


class ContrastViews:
    """Crop, mirror, change colours, convert to grey, blur.

    Args:
        config: Their ranges and shares.
        size: Edge of the result, in pixels.
    """

    draws = _resized_crop.DRAWS + 1 + 1 + _colour_jitter.DRAWS + 1 + 2

    def __init__(self, config: Config, size: int) -> None:
        self.config = config
        self.size = size
        self.jitter = ColourJitter(
            (config.brightness, config.contrast, config.saturation, config.hue)
        )

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Change stored pixels.

        Args:
            image: ``(B, 3, H, W)`` uint8.
            uniform: ``(B, draws)`` from [0, 1): those of the crop (see
                `medldr.transforms._resized_crop`), one for the mirror, one for whether colours
                change, those of the colours (see `medldr.transforms._colour_jitter`), one for grey,
                two for the blur (whether, how strong).

        Returns:
            ``(B, 3, size, size)`` float32 in [0, 1], a new tensor.
        """
        config = self.config
        numbers = uniform.cpu()  # which pictures change must be known on the host
        first = _resized_crop.DRAWS
        cut = crop_and_mirror(
            image,
            uniform,
            self.size,
            scale=config.crop_scale,
            ratio=config.crop_ratio,
            flip=config.flip,
        )
        some = numbers[:, first + 1].lt(config.jitter).nonzero()[:, 0]
        rows = some.to(cut.device)
        cut[rows] = self.jitter(cut[rows], numbers[some, first + 2 : -3])
        colourless = uniform[:, -3].lt(config.grey).view(-1, 1, 1, 1)
        cut = torch.where(colourless, _colour_jitter.grey(cut), cut)
        low, high = config.blur_sigma
        for row, (drawn, part) in enumerate(numbers[:, -2:].tolist()):
            if drawn < config.blur:
                cut[row] = blurred(cut[row], low + (high - low) * part)
        return cut


def blurred(image: Tensor, sigma: float) -> Tensor:
    """A picture ``(3, H, W)`` after a Gaussian blur.

    Args:
        image: Floats.
        sigma: Standard deviation, in pixels.

    Example:
        >>> dot = torch.zeros(1, 5, 5)
        >>> dot[0, 2, 2] = 1
        >>> round(blurred(dot, 0.5)[0, 2, 2].item(), 4)
        0.6187
    """
    # torchvision takes a second to import, and a list of presets must not wait for it.
    from torchvision.transforms.v2.functional import gaussian_blur

    # Mirrored borders need a picture that is larger than what is mirrored.
    reach = min(math.ceil(3 * sigma), min(image.shape[1:]) - 1)
    soft: Tensor = gaussian_blur(image, [2 * reach + 1] * 2, [sigma] * 2)
    return soft


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures, or not square with ``size`` unset.

    Example:
        >>> rule = build(Config(), ImageShape(3, (32, 32)))
        >>> rule.draws, rule.output
        (32, ImageShape(channels=3, spatial_size=(32, 32)))
    """
    check_colour(shape, "contrast_views")
    height, width = shape.spatial_size
    if config.size is None and height != width:
        raise InputError(
            f"transform.size: contrast_views makes square pictures, and these are {shape}. Set the "
            "edge that the network's input shall have."
        )
    size = height if config.size is None else config.size
    return ColourRule(shape, config, size=size, augmentation=ContrastViews(config, size))


COLOUR_ONLY = True
ANY_SIZE = True
