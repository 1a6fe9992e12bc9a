"""Balanced softmax: cross-entropy with every logit raised by the logarithm of its class's count.

When to use: multi-class data with classes of very different sizes, and a test on which all classes
count alike. Rare classes gain and frequent ones lose; where the test has the frequencies of
training, and sensitivity to rare classes is not what matters, stay with ``cross_entropy``.

Prediction uses the plain logits, without the logarithms: that is what balances it. Probabilities
are those of a population in which all classes are equally frequent, not the one trained on.

Source:
    Ren et al., "Balanced meta-softmax for long-tailed visual recognition", 2020:
    ``CE(z + ln n, y)`` with the training counts ``n``; priors in their place change nothing. Any
    soft label is a target of the same cross-entropy.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor
from torch.nn import functional

from medldr.losses._softmax import SoftmaxLoss, counts_of_all
from medldr.losses.base import LossConfig
from medldr.types import DataSpec

TITLE = "Balanced Softmax"


class BalancedSoftmaxConfig(LossConfig):
    """Keys of balanced softmax: none of its own."""

    name: Literal["balanced_softmax"] = "balanced_softmax"


class BalancedSoftmax(SoftmaxLoss):
    """``-sum_k target_k log softmax(logits + ln n)_k`` of each sample, in float32 at least.

    Raises:
        InputError: If a class has no training image.

    Example:
        >>> import torch
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (100, 10, 1), 1, (8, 8))
        >>> loss = BalancedSoftmax(BalancedSoftmaxConfig(), spec)
        >>> [round(v, 4) for v in loss(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([2])).tolist()]
        [2.9021]
    """

    balances_classes = True
    log_counts: Tensor

    def __init__(self, config: LossConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        counts = counts_of_all("balanced_softmax", spec)
        # The data state the counts again whenever a run resumes, so checkpoints need not.
        self.register_buffer("log_counts", counts.log().float(), persistent=False)

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says."""
        return functional.cross_entropy(logits + self.log_counts, target, reduction="none")


Config = BalancedSoftmaxConfig
LOSS = BalancedSoftmax
