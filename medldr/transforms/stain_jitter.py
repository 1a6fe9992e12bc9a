"""Preset ``stain_jitter``: in training, each stain of a histology picture is varied independently.

Hospitals differ in how strongly a slide takes up haematoxylin and eosin. The jitter separates each
pixel into three stains, multiplies each by a factor near 1, adds a number near 0 to it, both drawn
once per picture and stain, and puts the colours together again. `stain_jitter` is the formula
alone; the preset draws, applies it to a part of the training pictures, and normalises.

With one row vector of RGB per pixel, stain matrix M and L = -ln(255 P + e), the published three
steps are S = L M^-1, S' = S * alpha + beta, P' = (exp(-S' M) - e) / 255, clipped to [0, 1]. In L
this is affine: L' = L A + beta M with A = M^-1 diag(alpha) M, one 3 x 3 matrix per picture. So a
batch takes a logarithm (for stored pixels, a table of 256), nine multiplications per pixel and an
exponential, a few pictures at a time on a processor, to stay in its cache.

Source:
    Stain matrix: Ruifrok and Johnston 2001, as scikit-image has it. Jitter: Tellez et al. 2018;
    its form, the numbers 0.1 and 0.56827 and e = 1e-6 (of one grey level of 255): Gao et al. 2023,
    targeted augmentation, whose code rounds the jittered picture to 8 bits; here it is not rounded.
    That form has no white point: with alpha below 1 the empty background turns bluish.
    ``reference: white`` is ours: densities count from white, which stays white where beta is 0.
    ``stains`` is ours too: the published form jitters all three, although haematoxylin and
    eosin leave in the third (DAB) only a residual.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import cache
from typing import Final, Literal, NamedTuple

import torch
from pydantic import Field, field_validator
from torch import Tensor

from medldr.transforms._colour import ColourConfig, ColourRule, check_colour
from medldr.transforms.base import ImageShape, to_unit

AUGMENTATION = {
    "id": "targeted",
    "title": "targeted (stain jitter)",
    "published": {
        "sigma": 0.1,
        "probability": 0.56827,
        "reference": "none",
        "stains": ["haematoxylin", "eosin", "dab"],
    },
}
"""As published for Camelyon17 (Gao et al. 2023); other numbers are another augmentation."""

Stain = Literal["haematoxylin", "eosin", "dab"]

STAINS: Final[tuple[Stain, ...]] = ("haematoxylin", "eosin", "dab")

STAIN_MATRIX: Final = torch.tensor(
    [[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]], dtype=torch.float64
)
"""Optical density that one unit of each stain (row) adds to red, green and blue (column)."""

EPSILON: Final = 1e-6
"""Added before the logarithm, in grey levels of 255, to give black a density."""

WHITE: Final = math.log(255 + EPSILON)
"""Logarithm of a white pixel."""

BLOCK: Final = 2**19
"""Values that one thread works on at once: what stays in a cache from one step to the next."""


def stain_jitter(
    image: Tensor,
    alpha: Tensor,
    beta: Tensor,
    *,
    reference: Literal["white"] | None = None,
) -> Tensor:
    """Multiply each stain's density by alpha, add beta to it.

    Args:
        image: ``(B, 3, H, W)`` RGB: floats in [0, 1], or uint8, which gives float32. Not changed.
        alpha: ``(B, 3)``, a factor per picture and stain, in the order of `STAINS`.
        beta: ``(B, 3)``, added per picture and stain.
        reference: None takes the logarithm of the pixel as published; ``"white"`` that of its share
            of white: a white pixel then has no stain for alpha to act on. Both add `EPSILON`, so
            black pixels are finite and, with alpha 1 and beta 0, stay black.

    Returns:
        ``(B, 3, H, W)`` in [0, 1], float64 for float64 and else float32.

    Raises:
        TypeError: If the pixels have another type.

    Source:
        Gao et al. 2023; see the module. The two references are the same up to beta: published with
        (alpha, beta) equals white with (alpha, beta + (1 - alpha) ln(255) 1 M^-1).

    Example:
        >>> pixel = torch.tensor([0.6, 0.3, 0.5], dtype=torch.float64).view(1, 3, 1, 1)
        >>> alpha = torch.tensor([[1.05, 0.95, 1.02]], dtype=torch.float64)
        >>> beta = torch.tensor([[0.03, -0.04, 0.01]], dtype=torch.float64)
        >>> [round(float(value), 6) for value in stain_jitter(pixel, alpha, beta).flatten()]
        [0.74398, 0.448611, 0.585727]
    """
    if image.dtype not in (torch.uint8, torch.float32, torch.float64):
        raise TypeError(f"stain_jitter takes uint8, float32 or float64 pixels, not {image.dtype}")
    dtype = torch.float64 if image.dtype == torch.float64 else torch.float32
    basis = _basis(dtype, image.device)
    alpha, beta = (part.to(image.device, dtype)[:, :, None] for part in (alpha, beta))
    # A - 1 = M^-1 diag(alpha - 1) M, exactly 0 where alpha is 1. Indices: picture, from, to.
    change = (basis.through * (alpha - 1)[:, None]).sum(2)
    matrix = (basis.identity + change)[..., None, None]
    offset = (basis.stains * -beta).sum(1) - math.log(255)
    if reference == "white":
        offset = offset - WHITE * change.sum(1)
    offset = offset[..., None, None]
    jittered = torch.empty(image.shape, dtype=dtype, device=image.device)
    for part in _blocks(image):
        levels, out = _log_levels(image[part]), jittered[part]
        # Written out, not as a matrix product, which autocast and TF32 would round to 10 bits.
        torch.mul(levels[:, 0:1], matrix[part, 0], out=out)
        out.addcmul_(levels[:, 1:2], matrix[part, 1]).addcmul_(levels[:, 2:3], matrix[part, 2])
        out.add_(offset[part]).exp_().sub_(EPSILON / 255).clamp_(0, 1)
    return jittered


def _blocks(image: Tensor) -> list[slice]:
    """The batch in parts: small ones on a processor, all of it at once elsewhere."""
    pictures = len(image)
    if image.device.type == "cpu":
        pictures = max(1, BLOCK * torch.get_num_threads() // max(1, image[0:1].numel()))
    return [slice(start, start + pictures) for start in range(0, len(image), pictures or 1)]


class _Basis(NamedTuple):  # constants of the formula, in one precision on one device
    stains: Tensor  # (3 stains, 3 channels): M
    through: Tensor  # (3 channels, 3 stains, 3 channels): what goes through each stain, M^-1 and M
    identity: Tensor  # (3, 3)
    log_levels: Tensor  # (256,): ln of every stored value


@cache
def _basis(dtype: torch.dtype, device: torch.device) -> _Basis:
    inverse = torch.linalg.inv(STAIN_MATRIX)
    through = inverse[:, :, None] * STAIN_MATRIX
    logs = torch.arange(256, dtype=torch.float64).add_(EPSILON).log_()
    parts = (STAIN_MATRIX, through, torch.eye(3), logs)
    return _Basis(*(part.to(device=device, dtype=dtype) for part in parts))


def _log_levels(image: Tensor) -> Tensor:
    """ln(255 P + e); a new tensor."""
    if image.is_floating_point():
        return image.mul(255).add_(EPSILON).log_()
    table = _basis(torch.float32, image.device).log_levels
    return table.index_select(0, image.flatten().int()).view(image.shape)


class StainJitter:
    """Draws for `stain_jitter`: alpha from 1 +- sigma, beta from +- sigma, on a share of pictures.

    Args:
        sigma: Half the width of both ranges.
        probability: Share of the pictures that are jittered; the others stay as they are.
        reference: See `stain_jitter`.
        stains: Stains that vary.
    """

    draws = 7

    def __init__(
        self,
        sigma: float,
        probability: float,
        reference: Literal["none", "white"] = "none",
        stains: Collection[Stain] = STAINS,
    ) -> None:
        self.probability = probability
        self.reference: Literal["white"] | None = "white" if reference == "white" else None
        self.sigmas = tuple(sigma if stain in stains else 0.0 for stain in STAINS)

    def __call__(self, image: Tensor, uniform: Tensor) -> Tensor:
        """Jitter stored pixels.

        Args:
            image: ``(B, 3, H, W)`` uint8.
            uniform: ``(B, 7)`` from [0, 1): three for alpha, three for beta, one for whether.

        Returns:
            ``(B, 3, H, W)`` float32 in [0, 1].
        """
        centred = uniform[:, :6].mul(2).sub_(1)
        alpha, beta = (
            torch.stack([half[:, k] * sigma for k, sigma in enumerate(self.sigmas)], dim=1)
            for half in (centred[:, :3], centred[:, 3:])
        )
        jittered = stain_jitter(image, alpha + 1, beta, reference=self.reference)
        chosen = uniform[:, 6].lt(self.probability).view(-1, 1, 1, 1)
        return torch.where(chosen, jittered, to_unit(image))


class JitterConfig(ColourConfig):
    """Keys of every preset that jitters stains."""

    size: int | None = Field(None, ge=1, description="resize to this edge; unset: as stored")
    sigma: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="stains vary by a factor of 1 +- sigma and an offset of +- sigma",
    )
    probability: float = Field(
        0.56827, ge=0, le=1, description="share of the training pictures that are jittered"
    )
    reference: Literal["none", "white"] = Field(
        "none", description="white: white stays white; none: as published"
    )
    stains: tuple[Stain, ...] = Field(
        STAINS, min_length=1, description="stains that vary; dab is the residual of H&E"
    )

    @field_validator("stains")
    @classmethod
    def _order_never_matters(cls, value: tuple[Stain, ...]) -> tuple[Stain, ...]:
        return tuple(stain for stain in STAINS if stain in value)

    def jitter(self) -> StainJitter:
        """The jitter that these keys describe."""
        return StainJitter(self.sigma, self.probability, self.reference, self.stains)


class Config(JitterConfig):
    """Keys of the preset ``stain_jitter``."""

    name: Literal["stain_jitter"] = "stain_jitter"


def build(config: Config, shape: ImageShape) -> ColourRule:
    """The rule for pictures of this shape.

    Raises:
        InputError: If they are not colour pictures.

    Example:
        >>> rule = build(Config(), ImageShape(3, (64, 64)))
        >>> rule.draws, rule.output
        (7, ImageShape(channels=3, spatial_size=(64, 64)))
    """
    check_colour(shape, "stain_jitter")
    return ColourRule(shape, config, size=config.size, augmentation=config.jitter())


COLOUR_ONLY = True
