"""Logit-adjusted cross-entropy: logits raised by the logarithm of the class's prior, times tau.

When to use: as ``balanced_softmax``, which it equals at ``tau`` 1; with another ``tau`` the
adjustment is weaker (0 is cross-entropy) or stronger. Prediction uses the plain logits.

Source:
    Menon et al., "Long-tail learning via logit adjustment", 2021: ``CE(z + tau ln pi, y)`` with
    the training frequencies ``pi``, ``tau`` 1. Balanced contrastive learning trains its
    classification branch with it. Any soft label is a target of the same cross-entropy.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor
from torch.nn import functional

from medldr.losses._softmax import SoftmaxLoss, counts_of_all
from medldr.losses.base import LossConfig
from medldr.types import DataSpec

TITLE = "Logit adjustment"
PUBLISHED = {"tau": 1.0}


class LogitAdjustedConfig(LossConfig):
    """Keys of logit-adjusted cross-entropy."""

    name: Literal["logit_adjusted"] = "logit_adjusted"
    tau: float = Field(1.0, ge=0, description="strength of the adjustment; 0: cross-entropy")


class LogitAdjusted(SoftmaxLoss):
    """``-sum_k target_k log softmax(logits + tau ln pi)_k`` of each sample, in float32 at least.

    Raises:
        InputError: If a class has no training image.

    Example:
        >>> import torch
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (100, 10, 1), 1, (8, 8))
        >>> loss = LogitAdjusted(LogitAdjustedConfig(tau=1.0), spec)
        >>> [round(v, 4) for v in loss(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([2])).tolist()]
        [2.9021]
    """

    adjustment: Tensor

    def __init__(self, config: LogitAdjustedConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        self.balances_classes = config.tau > 0
        counts = counts_of_all("logit_adjusted", spec)
        adjustment = config.tau * (counts / counts.sum()).log()
        self.register_buffer("adjustment", adjustment.float(), persistent=False)

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return functional.cross_entropy(logits + self.adjustment, target, reduction="none")


Config = LogitAdjustedConfig
LOSS = LogitAdjusted
