"""Focal loss: cross-entropy that counts less where the true class is already likely.

When to use: many easy samples, with few hard ones among them. It knows nothing of class counts;
for imbalanced classes see ``balanced_softmax`` and ``cb_focal``. Probabilities are less confident
than those of cross-entropy.

Source:
    Lin et al., "Focal loss for dense object detection", 2017, in its softmax form
    ``-(1 - p_y)^gamma log p_y``; ``gamma`` 2 is the value it recommends. Its class factor alpha
    is not part of it here: that is ``training.class_weights``, or the loss ``cb_focal``.
    Our choice: the loss of a soft label is the mean of the losses of its classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.losses._softmax import SoftmaxLoss, expected
from medldr.losses.base import LossConfig

TITLE = "Focal loss"
PUBLISHED = {"gamma": 2.0}


class FocalConfig(LossConfig):
    """Keys of the focal loss."""

    name: Literal["focal"] = "focal"
    gamma: float = Field(2.0, ge=0, description="how much likely samples fade; 0: cross-entropy")


class Focal(SoftmaxLoss):
    """``-(1 - p_y)^gamma log p_y`` of each sample, in float32 at least.

    Example:
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("multi-class", ("a", "b"), (1, 1), 1, (8, 8))
        >>> loss = Focal(FocalConfig(), spec)
        >>> [round(v, 4) for v in loss(torch.zeros(1, 2), torch.tensor([0])).tolist()]
        [0.1733]
    """

    config: FocalConfig

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return expected(focal(logits.log_softmax(1), self.config.gamma), target)


def focal(log_p: Tensor, gamma: float) -> Tensor:
    """``-(1 - p)^gamma log p``, element by element.

    Args:
        log_p: Logarithms of probabilities, of any shape.
        gamma: From 0 up.
    """
    # At p = 1 the slope of a power below 1 is infinite, although the loss is 0 there.
    rest = (-torch.expm1(log_p)).clamp_min(torch.finfo(log_p.dtype).tiny)
    return -(rest**gamma) * log_p


Config = FocalConfig
LOSS = Focal
