"""The network that guesses the domain of a latent, and how steep its loss is there."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional


class Discriminator(nn.Module):
    """Guesses domains: a few linear layers with ReLU, in float32 also under autocast.

    There is no batch normalisation: a row's loss depends on that row alone.

    Args:
        dim: Size of the latents, D.
        domains: Number of domains to distinguish.
        width: Of every hidden layer.
        depth: Number of linear layers, 2 or more.
        dropout: Probability that a hidden value is dropped.

    Shape:
        - Input ``(B, D)``, output ``(B, domains)``.

    Source:
        DomainBed's multilayer perceptron.

    Example:
        >>> sum(p.numel() for p in Discriminator(2048, 3, width=256, depth=3).parameters())
        591107
    """

    def __init__(
        self, dim: int, domains: int, *, width: int, depth: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        inputs = (dim, *[width] * (depth - 2))
        self.hidden = nn.ModuleList(nn.Linear(size, width) for size in inputs)
        self.dropout = nn.Dropout(dropout)
        self.last = nn.Linear(width, domains)

    def forward(self, seen: Tensor) -> Tensor:
        """Logits of every domain."""
        with torch.autocast(seen.device.type, enabled=False):
            logits: Tensor = self.last(self._values(seen)[-1])
        return logits

    def with_slopes(self, seen: Tensor, domain: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the gradient of each row's cross-entropy with respect to that row.

        The chain rule is written out, so a loss that uses it needs only a first derivative, which
        compiled code provides.

        Args:
            seen: ``(B, D)``.
            domain: ``(B,)`` domain numbers.

        Returns:
            ``(B, domains)`` and ``(B, D)``, of one pass and one draw of dropout.

        Example:
            >>> one = Discriminator(1, 2, width=1, depth=2)
            >>> for parameter, value in zip(one.parameters(), ([[1.0]], [0.0], [[2.0], [0.0]])):
            ...     _ = parameter.data.copy_(torch.tensor(value))
            >>> _ = one.last.bias.data.copy_(torch.tensor([-2.0, 0.0]))
            >>> logits, slopes = one.with_slopes(torch.tensor([[1.0]]), torch.tensor([0]))
            >>> logits.tolist(), slopes.tolist()  # 2 (1/2 - 1)
            ([[0.0, 0.0]], [[-1.0]])
        """
        with torch.autocast(seen.device.type, enabled=False):
            values = self._values(seen)
            logits: Tensor = self.last(values[-1])
            wrong = logits.softmax(1) - functional.one_hot(domain, logits.shape[1])
            slopes = wrong @ self.last.weight
            kept = 1 / (1 - self.dropout.p) if self.training else 1.0
            for layer, value in zip(reversed(self.hidden), reversed(values), strict=True):
                slopes = (slopes * (value > 0) * kept) @ cast(nn.Linear, layer).weight
        return logits, slopes

    def _values(self, seen: Tensor) -> list[Tensor]:
        """The output of each hidden layer."""
        value, values = seen.to(torch.promote_types(seen.dtype, torch.float32)), []
        for layer in self.hidden:
            value = self.dropout(layer(value)).relu()
            values.append(value)
        return values


def gradient_penalty(slopes: Tensor) -> Tensor:
    """Steepness of the discriminator's loss: the mean squared length of the rows' gradients.

    Args:
        slopes: ``(B, D)`` from `Discriminator.with_slopes`.

    Source:
        DomainBed from August 2022 on. Its earlier releases and their descendants differentiated
        the softmax of all pairs of rows and domains instead of each row's own entry.

    Example:
        >>> gradient_penalty(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).item()
        12.5
    """
    return slopes.square().sum(1).mean()
