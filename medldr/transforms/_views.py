"""How a training sample is made, and the extra views of it that some algorithms ask for.

Extra views are other draws of the same transform, or of a section of their own
(``transform.views``), whose pixel rule and list of MONAI transforms see the same stored pixels.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.transforms._chain import Chain
from medldr.transforms.base import ImageShape, PixelRule

_LEVELS = (0, 102, 255)


class SampleMaker:
    """A pixel rule, then a chain of MONAI transforms where there is one, for training samples.

    Attributes:
        rule: The preset's pixel rule.
        chain: MONAI transforms of each sample, or None.
        output: Shape of what it makes.
    """

    def __init__(self, rule: PixelRule, chain: Chain | None) -> None:
        self.rule = rule
        self.chain = chain
        self.output = rule.output if chain is None else chain.output_shape(rule.output)

    @property
    def random(self) -> bool:
        """Whether another draw gives another image."""
        return self.rule.draws > 0 or (self.chain is not None and self.chain.random)

    def __call__(
        self, image: Tensor, *, uniform: Tensor | None = None, entropy: Sequence[int] = ()
    ) -> Tensor:
        """One stored image ``(C, [D,] H, W)``, on the CPU.

        Args:
            image: Stored pixels, uint8 or float32; see `medldr.transforms.base`.
            uniform: ``(rule.draws,)`` numbers from [0, 1), where the rule draws.
            entropy: What the chain's randomness is made of, such as (seed, epoch, index).

        Returns:
            ``(C', [D',] H', W')`` float32.
        """
        drawn = None if uniform is None else uniform[None]
        ruled = self.rule(image[None], train=True, uniform=drawn)[0].contiguous()
        return ruled if self.chain is None else self.chain(ruled, entropy)


def check_views(
    views: SampleMaker, rule: PixelRule, output: ImageShape, stored: ImageShape, *, compare: bool
) -> None:
    """Refuse views that are not what the network sees otherwise.

    Args:
        views: Made by ``transform.views``.
        rule: Of the images themselves.
        output: Shape of what the network receives.
        stored: Shape of a stored image.
        compare: Whether pixel rules alone make images and views, so that their values can be
            compared; a list of MONAI transforms may normalise too.

    Raises:
        InputError: If the shapes differ, or one picture has different values in both.
    """
    if views.output != output:
        raise InputError(
            f"transform.views makes images of {views.output}, but the network receives {output}. "
            "Set transform.views.size, or end transform.views.train with a step that restores the "
            "size."
        )
    if not compare:
        return
    # Even images, because two presets may resize with different weights.
    even = torch.tensor(_LEVELS, dtype=torch.uint8).view(-1, *[1] * (1 + len(stored.spatial_size)))
    image = even.expand(-1, stored.channels, *stored.spatial_size).contiguous()
    ours, theirs = (each(image, train=False) for each in (rule, views.rule))
    if not torch.allclose(ours, theirs, atol=1e-3):
        raise InputError(
            "transform.views normalises otherwise than transform does, so the network would tell "
            "views and images apart by it. Set mean and std of transform.views to those of "
            "transform."
        )
