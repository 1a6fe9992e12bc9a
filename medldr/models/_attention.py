"""Gated attention: one latent of a set of latents, by weights that are learned."""

from __future__ import annotations

from typing import Final

from torch import Tensor, nn

HIDDEN: Final = 128


class GatedAttention(nn.Module):
    """The mean of latents by weights that a small network gives each of them.

    Args:
        dim: Latent size ``D``.

    Source:
        Ilse et al., "Attention-based deep multiple instance learning", 2018, with their 128 hidden
        units and gate.

    Example:
        >>> import torch
        >>> attention, z = GatedAttention(4), torch.rand(2, 3, 4)
        >>> there = torch.tensor([[True, True, False], [True, True, True]])
        >>> alone = attention(z[:1, :2])
        >>> torch.allclose(attention(z, there)[:1], alone)
        True
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.content, self.gate = nn.Linear(dim, HIDDEN), nn.Linear(dim, HIDDEN)
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, z: Tensor, there: Tensor | None = None) -> Tensor:
        """One latent of each set.

        Args:
            z: ``(B, N, D)``, finite throughout.
            there: ``(B, N)``, which of them count, at least one of each set; None: all.

        Returns:
            ``(B, D)``.
        """
        score: Tensor = self.score(self.content(z).tanh() * self.gate(z).sigmoid())
        if there is not None:
            score = score.masked_fill(~there.unsqueeze(2), -float("inf"))
        return (score.softmax(1) * z).sum(1)
