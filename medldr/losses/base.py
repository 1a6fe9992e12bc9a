"""The contract of a classification loss.

A loss is a small module, because some (balanced softmax) keep class counts in a buffer. It
returns one value per sample: weights, masks and means are applied in one place, outside.
"""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from medldr.config import PluginSection
from medldr.types import DataSpec, Task


class LossConfig(PluginSection):
    """Keys that every loss has."""


class Loss(nn.Module):
    """Classification loss of logits against hard, soft or multi-hot targets.

    It acts on the training loss alone: predictions and validation use the plain logits.

    Attributes:
        tasks: Kinds of labels that this loss fits.
        head: The one ``model.head`` that it works with; empty: any.
        balances_classes: It makes up for rare classes by their training counts, so class-balanced
            batches or class weights on top of it would do so twice.
        config: Its keys.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("multi-class", "binary", "ordinal")
    head: ClassVar[str] = ""
    balances_classes: bool = False

    def __init__(self, config: LossConfig, spec: DataSpec) -> None:
        super().__init__()
        self.config = config

    def bind(self, head: nn.Module) -> None:
        """Look at the head whose logits it will get; called once, before the first loss.

        Raises:
            InputError: If the loss has no meaning for logits of that head.
        """

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Loss of each sample.

        Args:
            logits: ``(B, K)``.
            target: ``(B,)`` int64 class numbers, or ``(B, K)`` float: soft labels (rows sum to
                one), or multi-hot with NaN for missing entries.

        Returns:
            ``(B,)`` float32. Class weights and the mean over the batch are the caller's.
        """
        raise NotImplementedError
