"""Class-balanced cross-entropy: each sample weighs by the effective number of its class.

When to use: imbalanced classes where re-weighting from the first step on is wanted. Large weights
of tiny classes make training unsteady: ``training.class_weights`` with ``start`` lets them in late.

Source:
    Cui et al., "Class-balanced loss based on effective number of samples", 2019: weights
    ``(1 - beta) / (1 - beta^n_j)``, scaled to sum to the number of classes; ``beta`` 0.9999 is its
    value for most long-tailed data. Unlike ``training.class_weights``, which divides a batch by the
    sum of its weights, the mean over a batch is a plain one, as in that paper.
    Our choice: a class without training images weighs 1; the loss of a soft label is the mean of
    the weighted losses of its classes.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from medldr.data.loading.class_weights import effective_number
from medldr.losses._softmax import SoftmaxLoss, expected
from medldr.losses.base import LossConfig
from medldr.types import DataSpec

TITLE = "Class-balanced loss"
PUBLISHED = {"beta": 0.9999}


class ClassBalancedConfig(LossConfig):
    """Keys of class-balanced cross-entropy."""

    name: Literal["class_balanced"] = "class_balanced"
    beta: float = Field(
        0.9999, ge=0, lt=1, description="0: all classes weigh 1; towards 1: 1 / count"
    )


class ClassBalanced(SoftmaxLoss):
    """``-w_y log p_y`` of each sample, in float32 at least.

    Attributes:
        weights: ``(K,)``, summing to K.

    Example:
        >>> import torch
        >>> spec = DataSpec("multi-class", ("a", "b"), (3, 1), 1, (8, 8))
        >>> loss = ClassBalanced(ClassBalancedConfig(beta=0.5), spec)
        >>> loss.weights
        tensor([0.7273, 1.2727])
        >>> [round(v, 4) for v in loss(torch.zeros(2, 2), torch.tensor([0, 1])).tolist()]
        [0.5041, 0.8822]
    """

    weights: Tensor

    def __init__(self, config: ClassBalancedConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        self.balances_classes = config.beta > 0
        weights = effective_number(spec.class_counts, config.beta)
        self.register_buffer("weights", weights.float(), persistent=False)

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return expected(-self.weights * logits.log_softmax(1), target)


Config = ClassBalancedConfig
LOSS = ClassBalanced
