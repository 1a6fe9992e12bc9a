"""A classifier that looks at the direction of latents alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

SCALE = 16.0


class CosineHead(nn.Module):
    """Scaled cosine between latents and one learned direction per class; no bias.

    ``model.cosine_scale`` is the one place where the scale is set, and `scale` the one place where
    it is kept and applied: a loss that needs it (a margin in units of the cosine) reads it here,
    and never multiplies logits by another one.

    Args:
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        scale: Factor on the cosine, positive.

    Attributes:
        weight: ``(K, D)``; only the directions of its rows count.
        scale: As given; it is not trained, and is no part of the state dict.

    Shape:
        - Input ``(B, D)``, output ``(B, K)`` within ``[-scale, scale]``; zeros for a latent of
          zeros, which has no direction.

    Source:
        The normalised classifier of the long-tail literature: Cao et al. 2019 (LDAM), who multiply
        by 30 in the loss; others' layers multiply by 30 themselves, and both together would make
        900. Rows start as theirs do: drawn uniformly from a cube, then divided by their length.
        The length changes no logit, but the gradient is divided by it, so it is part of the pace
        of training. The default scale of 16 is our choice.

    Example:
        >>> head = CosineHead(2, 3, scale=30.0)
        >>> _ = head.weight.data.copy_(torch.tensor([[2.0, 0.0], [0.0, 5.0], [-1.0, 0.0]]))
        >>> head(torch.tensor([[7.0, 0.0]])).tolist()
        [[30.0, 0.0, -30.0]]
    """

    def __init__(self, dim: int, num_classes: int, scale: float = SCALE) -> None:
        super().__init__()
        start = torch.empty(num_classes, dim).uniform_(-1, 1)
        self.weight = nn.Parameter(functional.normalize(start, dim=1))
        self.scale = scale

    def forward(self, z: Tensor) -> Tensor:
        """Return ``scale * cos(z, w_k)`` for every class."""
        unit = functional.normalize(z, dim=1)
        return self.scale * unit @ functional.normalize(self.weight, dim=1).T

    def extra_repr(self) -> str:
        """Sizes and scale, for printing."""
        classes, dim = self.weight.shape
        return f"{dim}, {classes}, scale={self.scale}"
