"""CORN: ordered classes, learned as a chain of decisions whether the class is a higher one.

When to use: grades (``data.ordinal: true``), where it matters how far off a wrong answer is. It
needs the head that makes these decisions (``model.head: corn``; ``algorithm=corn`` sets both), and
works with every algorithm that takes the network's own head.

Source:
    CORN: Shi, Cao, Raschka, "Deep neural networks for rank-consistent ordinal regression based on
    conditional probabilities", 2023. The loss of a sample, ``-log P(y)``, is the sum of the binary
    cross-entropies of the decisions that it takes part in: decision ``j`` has the ``n_j`` samples
    of class ``j`` or above. Summed over a batch it is the published numerator. Published versions
    divide that by ``sum_j n_j``, which the labels of the batch decide, or by the number of classes;
    here, as with every loss, the mean over its ``B`` samples is taken. The value that is divided by
    ``sum_j n_j`` is ours times ``B / sum_j n_j``.
    Our choice: the loss of a soft label is the mean of the losses of its classes, so that Mixup and
    LatentDR work with it.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor, nn
from torch.nn import functional

from medldr.errors import InputError
from medldr.losses._softmax import SoftmaxLoss
from medldr.losses.base import LossConfig
from medldr.models.base import CornHead
from medldr.types import Task

TITLE = "CORN"


class CornConfig(LossConfig):
    """Keys of CORN: none of its own."""

    name: Literal["corn"] = "corn"


class Corn(SoftmaxLoss):
    """``-sum_k target_k log P_k`` of each sample, in float32 at least.

    The head gives ``log P``, of which this is the cross-entropy.

    Example:
        >>> import torch
        >>> from medldr.types import DataSpec
        >>> loss = Corn(CornConfig(), DataSpec("ordinal", ("0", "1", "2"), (1, 1, 1), 1, (8, 8)))
        >>> log_p = torch.tensor([[0.2689414, 0.5344466, 0.1966119]]).log()
        >>> [round(v, 4) for v in loss(log_p, torch.tensor([0])).tolist()]
        [1.3133]
    """

    tasks: ClassVar[tuple[Task, ...]] = ("ordinal",)
    head = "corn"

    def bind(self, head: nn.Module) -> None:
        """Accept a `CornHead`.

        Raises:
            InputError: If the head is another: its logits would be those of unordered classes.
        """
        if not isinstance(head, CornHead):
            raise InputError(
                "algorithm.loss: corn learns a chain of decisions, but it would get the logits of "
                f"{type(head).__name__}, which knows no order. Set model.head: corn, or use "
                "another loss such as cross_entropy; with sagnet, whose style head is always "
                "linear, use another loss"
            )

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """``log P`` against the target, by the cross-entropy."""
        return functional.cross_entropy(logits, target, reduction="none")


Config = CornConfig
LOSS = Corn
