"""Items of several views: each view goes through rule and transforms as an image of its own.

Stored items hold their views one after another, ``(V * C, [D,] H, W)``. A view of a single value
throughout is one that is missing; it is given on as zeros, whatever a rule makes of it, so that the
network can leave it out (`medldr.models.base.FeatureModel`).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from medldr.transforms._chain import Chain
from medldr.transforms.base import ImageShape, PixelRule, memory_format


class RuleOfEachView:
    """A pixel rule for items of several views; each draws numbers of its own.

    Args:
        rule: For one view.
        views: How many an item has.
    """

    def __init__(self, rule: PixelRule, views: int) -> None:
        self.rule = rule
        self.views = views
        self.draws = views * rule.draws
        self.output = _together(rule.output, views)

    def __call__(self, image: Tensor, *, train: bool, uniform: Tensor | None = None) -> Tensor:
        """Apply the rule; see `medldr.transforms.base.PixelRule`.

        Args:
            image: ``(B, V * C, [D,] H, W)``.
            train: Whether this is a training batch.
            uniform: ``(B, V * draws)``.
        """
        each = image.reshape(-1, image.shape[1] // self.views, *image.shape[2:])
        drawn = None if uniform is None else uniform.reshape(len(each), self.rule.draws)
        made = self.rule(each, train=train, uniform=drawn)
        values = each.flatten(1)
        missing = values.amax(1) == values.amin(1)
        made = made.masked_fill(missing.view(-1, *[1] * (made.ndim - 1)), 0.0)
        items = made.reshape(-1, self.views * made.shape[1], *made.shape[2:])
        return items.contiguous(memory_format=memory_format(items.ndim - 2))


class ChainOfEachView(Chain):
    """MONAI transforms for items of several views; each draws by itself.

    Args:
        chain: For one view.
        views: How many an item has.
    """

    def __init__(self, chain: Chain, views: int) -> None:
        self.__dict__.update(chain.__dict__)
        self.views = views

    def __call__(self, image: Tensor, entropy: Sequence[int] = ()) -> Tensor:
        """Apply the chain to ``(V * C, [D,] H, W)`` float32."""
        made = []
        for number, view in enumerate(image.chunk(self.views)):
            missing = view.amax() == view.amin()
            changed = super().__call__(view, (*entropy, number) if entropy else ())
            made.append(torch.zeros_like(changed) if missing else changed)
        return torch.cat(made)

    def output_shape(self, shape: ImageShape) -> ImageShape:
        """Shape of what comes out; see `Chain.output_shape`."""
        one = ImageShape(shape.channels // self.views, shape.spatial_size)
        return _together(super().output_shape(one), self.views)


def _together(shape: ImageShape, views: int) -> ImageShape:
    return ImageShape(views * shape.channels, shape.spatial_size)
