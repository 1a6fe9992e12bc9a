"""Binary cross-entropy of independent labels (multi-label).

When to use: multi-label tasks; the default there. Missing labels (NaN) do not count.

Source:
    The loss of MedMNIST's own training code for ChestMNIST. Leaving missing entries out, and the
    mean over the known entries of each sample, are our choice; with nothing missing the mean over
    a batch is torch's `BCEWithLogitsLoss`.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn import functional

from medldr.losses.base import Loss, LossConfig
from medldr.types import Task


class BinaryCrossEntropyConfig(LossConfig):
    """Keys of binary cross-entropy: none of its own."""

    name: Literal["binary_cross_entropy"] = "binary_cross_entropy"


class BinaryCrossEntropy(Loss):
    """Mean over a sample's known labels of the binary cross-entropy, in float32 at least.

    A sample without any known label contributes 0.

    Example:
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("multi-label", ("a", "b"), (1, 1), 1, (8, 8))
        >>> loss = BinaryCrossEntropy(BinaryCrossEntropyConfig(), spec)
        >>> target = torch.tensor([[1.0, float("nan")], [float("nan"), float("nan")]])
        >>> [round(v, 4) for v in loss(torch.zeros(2, 2), target).tolist()]
        [0.6931, 0.0]
    """

    tasks: ClassVar[tuple[Task, ...]] = ("multi-label",)

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Loss ``(B,)`` of logits ``(B, L)`` against ``(B, L)`` labels in [0, 1], or NaN.

        Raises:
            ValueError: If the shapes differ.
        """
        if target.shape != logits.shape or logits.ndim != 2:
            raise ValueError(
                f"the target of binary_cross_entropy should be {tuple(logits.shape)}, "
                f"but is {tuple(target.shape)}"
            )
        with torch.autocast(logits.device.type, enabled=False):
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            target = target.to(logits.dtype)
            known = ~target.isnan()
            each = functional.binary_cross_entropy_with_logits(
                logits, target.nan_to_num(), reduction="none"
            )
            return (each * known).sum(1) / known.sum(1).clamp_min(1)


Config = BinaryCrossEntropyConfig
LOSS = BinaryCrossEntropy
