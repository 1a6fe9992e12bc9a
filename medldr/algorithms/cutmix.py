"""CutMix: paste a box from another image, and predict both labels in proportion to their area.

What it changes: in every image of the batch one box is replaced by the same box of its partner's
image. The loss is ``lambda * loss(own label) + (1 - lambda) * loss(partner's label)``, where lambda
is the share of the image that was kept. Box and permutation are drawn once per step. Prediction
does not mix.

When to use: as a mixing baseline that keeps pixels real. With care in medicine: the finding that
determines the label may be outside the pasted box, or covered by it.

Cost: no extra parameters; one selection of pixels, next to nothing in time.

Works with: every task, model and classification loss, pictures and volumes, missing labels,
accumulation (each pass draws and mixes its own rows). Does not work as the ``base`` of a method
that needs true labels.

The box: a first lambda is from Beta(beta, beta). The box's side is ``floor(side of the image *
(1 - lambda) ** (1 / d))`` in ``d`` axes of space, each axis by its own length; its centre is a
pixel, uniform over the image. It extends half a side, rounded down, to both sides of the centre
(odd sides lose one pixel) and is clipped to the image. Then **lambda is recomputed** as one minus
the box's share of the image, which is larger on average than the lambda drawn.

Several processes: each mixes its own rows, with a box and a permutation of its own.

Class weights: they weigh the samples of both terms, each by the label of that term.

Logged: ``lambda``, the recomputed one; ``accuracy/mixed``, the accuracy on mixed images, which
counts a label as much as lambda does. A plain training accuracy is not logged.

Settings: ``beta`` 1.0, ``prob`` 1.0, the chance that a batch is mixed at all. At ``beta`` 0 or
``prob`` 0 it is ERM, bit for bit.

Source:
    Yun et al., "CutMix: Regularization strategy to train strong classifiers with localizable
    features", 2019; box, clipping and recomputed lambda as in their code. LatentDR does not state
    the settings: both are those of the SWAD code base, whose protocol it follows (the authors mix
    half of the batches on CIFAR, all on ImageNet). The cube root for volumes, which keeps the
    meaning of lambda, and drawing per process are our choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._mixing import PairMixing, Pairs, draw_pairs
from medldr.algorithms.base import AlgorithmConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

TITLE = "CutMix"


class CutMixConfig(AlgorithmConfig):
    """Keys of CutMix."""

    name: Literal["cutmix"] = "cutmix"
    beta: float = Field(
        1.0, ge=0, allow_inf_nan=False, description="lambda ~ Beta(beta, beta); 0: no mixing"
    )
    prob: float = Field(1.0, ge=0, le=1, description="probability that a batch is mixed")


class CutMix(PairMixing):
    """Pastes boxes."""

    config: CutMixConfig

    def __init__(self, config: CutMixConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        if not spec.spatial_size:
            raise InputError(
                "algorithm cutmix pastes boxes of pictures, and stored latents have none. Choose a "
                "method that works on latents, such as mixup, erm or latentdr"
            )

    def draw(self, rows: int) -> Pairs:
        """The pairs of a batch; share 1 if it is not to be mixed."""
        share, partner = draw_pairs(rows, self.config.beta)
        if self.config.prob < 1:
            share = torch.where(torch.rand(()) < self.config.prob, share, 1.0)
        return Pairs(share, partner)

    def mixed_latents(
        self, model: FeatureModel, image: Tensor, pairs: Pairs
    ) -> tuple[Tensor, Pairs]:
        """Latents of the pasted images, and the share of its pixels that each has kept."""
        size = image.shape[2:]
        centre = torch.stack([torch.randint(length, ()) for length in size])
        box = box_around(centre, size, pairs.share)
        pairs = Pairs(kept(box, size), pairs.partner).on(image.device)
        inside = mask(box.to(image.device, non_blocking=image.is_cuda), size)
        return model.features(torch.where(inside, image[pairs.partner], image)), pairs


def box_around(centre: Tensor, size: Sequence[int], share: Tensor) -> Tensor:
    """The box that leaves about this share of an image outside, clipped to the image.

    Args:
        centre: ``(d,)`` int64, a pixel.
        size: Lengths of the image's ``d`` axes of space.
        share: Scalar float64 in [0, 1].

    Returns:
        ``(2, d)`` int64: first pixel, and the one after the last. Empty at share 1.

    Example:
        >>> share = torch.tensor(0.75, dtype=torch.float64)
        >>> box_around(torch.tensor([4, 0]), (8, 8), share).tolist()
        [[2, 0], [6, 2]]
    """
    lengths = torch.tensor(tuple(size))
    side = (lengths * (1 - share) ** (1 / len(size))).floor().long()
    box = torch.stack([centre - side // 2, centre + side // 2])
    return torch.minimum(box.clamp_min(0), lengths)


def kept(box: Tensor, size: Sequence[int]) -> Tensor:
    """Share of an image outside a box, scalar float64.

    Example:
        >>> kept(torch.tensor([[0, 0], [2, 2]]), (8, 8))
        tensor(0.9375, dtype=torch.float64)
    """
    return 1 - (box[1] - box[0]).prod().double() / torch.tensor(tuple(size)).prod()


def mask(box: Tensor, size: Sequence[int]) -> Tensor:
    """True inside a box; bool of this size, made without reading the box's values on the host.

    Example:
        >>> mask(torch.tensor([[0, 1], [1, 3]]), (2, 3)).int().tolist()
        [[0, 1, 1], [0, 0, 0]]
    """
    inside = torch.ones((), dtype=torch.bool, device=box.device)
    for axis, length in enumerate(size):
        at = torch.arange(length, device=box.device)
        within = (at >= box[0, axis]) & (at < box[1, axis])
        inside = inside & within.view([-1 if a == axis else 1 for a in range(len(size))])
    return inside


Config = CutMixConfig
ALGORITHM = CutMix

CONTRACT_CASES = {
    "cutmix": {"keys": {"prob": 0.9}, "one_equals_two": False},
}
