"""Cross-entropy of exclusive classes, for hard and soft labels.

When to use: multi-class, binary (two logits) and ordinal tasks; the default there.

Source:
    The classification loss of LatentDR and of MedMNIST's own training code.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor
from torch.nn import functional

from medldr.losses._softmax import SoftmaxLoss
from medldr.losses.base import LossConfig
from medldr.types import DataSpec

TITLE = "Cross-entropy"
PUBLISHED = {"label_smoothing": 0.0}


class CrossEntropyConfig(LossConfig):
    """Keys of cross-entropy."""

    name: Literal["cross_entropy"] = "cross_entropy"
    label_smoothing: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="label smoothing: share of every target spread over all classes",
    )


class CrossEntropy(SoftmaxLoss):
    """``-sum_k target_k log softmax(logits)_k`` of each sample, in float32 at least.

    Source:
        Label smoothing as in Szegedy et al. 2016 and in torch.

    Example:
        >>> import torch
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (1, 1, 1), 1, (8, 8))
        >>> loss = CrossEntropy(CrossEntropyConfig(), spec)
        >>> [round(v, 4) for v in loss(torch.zeros(2, 3), torch.tensor([0, 2])).tolist()]
        [1.0986, 1.0986]
    """

    def __init__(self, config: LossConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        self.label_smoothing = float(getattr(config, "label_smoothing", 0.0))

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return functional.cross_entropy(
            logits, target, reduction="none", label_smoothing=self.label_smoothing
        )


Config = CrossEntropyConfig
LOSS = CrossEntropy
