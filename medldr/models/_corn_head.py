"""A classifier of ordered classes: a chain of decisions whether the class is a higher one."""

from __future__ import annotations

from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional


class CornHead(nn.Module):
    """Logarithms of class probabilities from K - 1 conditional decisions.

    The sigmoid of logit ``j`` is the probability of a class above ``j`` among those of at least
    ``j``. Their products ``P(y > j)`` cannot rise with ``j``, and their differences are the
    probabilities of the classes. The output is ``log P``: its softmax is ``P`` itself, so losses,
    prediction and exports treat it as any other head's logits.

    Args:
        dim: Latent size ``D``.
        num_classes: Number of ordered classes ``K``.

    Attributes:
        decisions: Linear, ``D`` to ``K - 1``.

    Shape:
        - Input ``(B, D)``, output ``(B, K)``, each row with a `logsumexp` of 0.

    Source:
        CORN: Shi, Cao, Raschka, "Deep neural networks for rank-consistent ordinal regression based
        on conditional probabilities", 2023.

    Example:
        >>> head = CornHead(2, 3)
        >>> _ = head.decisions.weight.data.copy_(torch.eye(2)), head.decisions.bias.data.zero_()
        >>> head(torch.tensor([[1.0, -1.0]])).exp().detach()
        tensor([[0.2689, 0.5344, 0.1966]])
    """

    def __init__(self, dim: int, num_classes: int) -> None:
        super().__init__()
        self.decisions = nn.Linear(dim, num_classes - 1)

    def forward(self, z: Tensor) -> Tensor:
        """``log P(y = j)``: of passing every decision before ``j``, and of stopping there."""
        logits = self.decisions(z)
        # Logarithms of sigmoids, by softplus: exact at both ends, and in an ONNX file too, where a
        # sigmoid is 0 below -18. Their sums never leave the range of floats.
        higher, not_higher = -functional.softplus(-logits), -functional.softplus(logits)
        # Few classes, so a plain loop: `cumsum` is not deterministic everywhere.
        passed = list(accumulate(higher.unbind(1), initial=torch.zeros_like(logits[:, 0])))
        return torch.stack(passed, dim=1) + functional.pad(not_higher, (0, 1))
