"""Class-balanced focal loss: the focal loss, weighted by the effective number of each class.

When to use: imbalanced classes with many easy samples. See ``class_balanced`` and ``focal``.

Source:
    Cui et al., "Class-balanced loss based on effective number of samples", 2019, in the softmax
    form of the focal loss (theirs is a sum of sigmoids); ``beta`` 0.9999. ``gamma`` 2, the focal
    loss's own value, is our choice: they search 0.5, 1 and 2. A class without training images
    weighs 1, and the loss of a soft label is the mean of the losses of its classes (our choice).
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.data.loading.class_weights import effective_number
from medldr.losses._softmax import checked, expected
from medldr.losses.base import Loss, LossConfig
from medldr.losses.focal import focal
from medldr.types import DataSpec

TITLE = "Class-balanced focal loss"
PUBLISHED = {"beta": 0.9999, "gamma": 2.0}


class CBFocalConfig(LossConfig):
    """Keys of the class-balanced focal loss."""

    name: Literal["cb_focal"] = "cb_focal"
    beta: float = Field(
        0.9999, ge=0, lt=1, description="0: all classes weigh 1; towards 1: 1 / count"
    )
    gamma: float = Field(2.0, ge=0, description="how much likely samples fade; 0: class_balanced")


class CBFocal(Loss):
    """``-w_y (1 - p_y)^gamma log p_y`` of each sample, in float32 at least.

    Attributes:
        weights: ``(K,)``, summing to K.

    Example:
        >>> spec = DataSpec("multi-class", ("a", "b"), (3, 1), 1, (8, 8))
        >>> loss = CBFocal(CBFocalConfig(beta=0.5, gamma=1.0), spec)
        >>> [round(v, 4) for v in loss(torch.zeros(2, 2), torch.tensor([0, 1])).tolist()]
        [0.2521, 0.4411]
    """

    weights: Tensor

    def __init__(self, config: CBFocalConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        self.balances_classes = config.beta > 0
        self.gamma = config.gamma
        weights = effective_number(spec.class_counts, config.beta)
        self.register_buffer("weights", weights.float(), persistent=False)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Loss ``(B,)`` of logits ``(B, K)`` against ``(B,)`` classes or ``(B, K)`` soft labels."""
        with torch.autocast(logits.device.type, enabled=False):
            logits, target = checked("cb_focal", logits, target)
            return expected(self.weights * focal(logits.log_softmax(1), self.gamma), target)


Config = CBFocalConfig
LOSS = CBFocal
