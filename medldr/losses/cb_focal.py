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

from pydantic import Field
from torch import Tensor

from medldr.losses._softmax import expected
from medldr.losses.class_balanced import ClassBalanced, ClassBalancedConfig
from medldr.losses.focal import focal

TITLE = "Class-balanced focal loss"
PUBLISHED = {"beta": 0.9999, "gamma": 2.0}


class CBFocalConfig(ClassBalancedConfig):
    """Keys of the class-balanced focal loss."""

    name: Literal["cb_focal"] = "cb_focal"  # type: ignore[assignment]
    gamma: float = Field(2.0, ge=0, description="how much likely samples fade; 0: class_balanced")


class CBFocal(ClassBalanced):
    """``-w_y (1 - p_y)^gamma log p_y`` of each sample, in float32 at least.

    Example:
        >>> import torch
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("multi-class", ("a", "b"), (3, 1), 1, (8, 8))
        >>> loss = CBFocal(CBFocalConfig(beta=0.5, gamma=1.0), spec)
        >>> [round(v, 4) for v in loss(torch.zeros(2, 2), torch.tensor([0, 1])).tolist()]
        [0.2521, 0.4411]
    """

    config: CBFocalConfig

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return expected(self.weights * focal(logits.log_softmax(1), self.config.gamma), target)


Config = CBFocalConfig
LOSS = CBFocal
