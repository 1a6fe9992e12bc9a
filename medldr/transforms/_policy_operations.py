"""The operations of AutoAugment and RandAugment on stored pictures, all of one strength.

Source:
    The operations are torchvision's. Ranges, from no change to the largest: shear 0 to 0.3,
    translation 0 to 150/331 of the edge, rotation 0 to 30 degrees, brightness, colour, contrast and
    sharpness by 0 to 0.9, posterize 8 to 4 bits, solarize from 256 to 0: those of the AutoAugment
    that Balanced Softmax (Ren et al. 2020) trains with. torchvision's own AutoAugment and
    RandAugment differ in one (solarize from 255: white is inverted even without strength). That
    code never mirrors a rotation and interpolates shears; here a rotation goes either way and the
    nearest pixel is taken, as in torchvision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from torch import Tensor


class Choice(NamedTuple):
    """What happens to a picture: an operation, how strong it is from 0 to 1, and its direction."""

    operation: str
    strength: float = 0.0
    sign: int = 1


def operate(image: Tensor, choice: Choice, fill: int) -> Tensor:
    """Pictures ``(n, 3, H, W)`` uint8 after one operation.

    Args:
        image: The pictures.
        choice: The operation.
        fill: Level of what is uncovered.
    """
    return _OPERATIONS[choice.operation](image, choice.strength, choice.sign, fill)


Operation = Callable[[Tensor, float, int, int], Tensor]


def _functional() -> Any:
    # torchvision takes a second to import, and a list of presets must not wait for it.
    from torchvision.transforms.v2 import functional

    return functional


def _affine(image: Tensor, fill: int, **keys: Any) -> Tensor:
    still: dict[str, Any] = {"angle": 0.0, "translate": [0, 0], "scale": 1.0, "shear": [0.0, 0.0]}
    moved: Tensor = _functional().affine(image, **{**still, **keys}, fill=[float(fill)] * 3)
    return moved


def _shear(axis: int) -> Operation:
    def operation(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
        shear = [0.0, 0.0]
        shear[axis] = sign * math.degrees(math.atan(0.3 * strength))
        return _affine(image, fill, shear=shear, center=[0, 0])

    return operation


def _translate(axis: int) -> Operation:
    def operation(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
        translate = [0, 0]
        translate[axis] = sign * int(150 / 331 * image.shape[-1 - axis] * strength)
        return _affine(image, fill, translate=translate)

    return operation


def _rotate(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
    turned: Tensor = _functional().rotate(image, sign * 30 * strength, fill=[float(fill)] * 3)
    return turned


def _enhance(name: str) -> Operation:
    def operation(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
        enhanced: Tensor = getattr(_functional(), name)(image, 1 + sign * 0.9 * strength)
        return enhanced

    return operation


def _plain(name: str) -> Operation:
    """An operation without a strength."""

    def operation(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
        changed: Tensor = getattr(_functional(), name)(image)
        return changed

    return operation


def _posterize(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
    kept: Tensor = _functional().posterize(image, 8 - round(4 * strength))
    return kept


def _solarize(image: Tensor, strength: float, sign: int, fill: int) -> Tensor:
    threshold = 256 * (1 - strength)
    if threshold > 255:  # no level is as bright, and torchvision refuses it
        return image
    inverted: Tensor = _functional().solarize(image, threshold)
    return inverted


_OPERATIONS: Final[dict[str, Operation]] = {
    "autocontrast": _plain("autocontrast"),
    "brightness": _enhance("adjust_brightness"),
    "colour": _enhance("adjust_saturation"),
    "contrast": _enhance("adjust_contrast"),
    "equalize": _plain("equalize"),
    "identity": lambda image, strength, sign, fill: image,
    "invert": _plain("invert"),
    "posterize": _posterize,
    "rotate": _rotate,
    "sharpness": _enhance("adjust_sharpness"),
    "shear_x": _shear(0),
    "shear_y": _shear(1),
    "solarize": _solarize,
    "translate_x": _translate(0),
    "translate_y": _translate(1),
}
