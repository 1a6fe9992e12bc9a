"""The network that guesses the domain of a latent, and the steepness of its loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Discriminator(nn.Module):
    """Guesses domains: a few linear layers with ReLU, in float32 also under autocast.

    A layer is linear, then dropout, then ReLU; the last one is linear alone. There is no batch
    normalisation, so that a row's loss depends on that row alone.

    Args:
        dim: Size of the latents, D.
        domains: Number of domains to tell apart.
        width: Of every hidden layer.
        depth: Number of linear layers, 2 or more.
        dropout: Chance of a hidden value to be dropped.

    Shape:
        - Input ``(B, D)``, output ``(B, domains)``.

    Source:
        DomainBed's multilayer perceptron, whose dropout stands before the ReLU.

    Example:
        >>> sum(p.numel() for p in Discriminator(2048, 3, width=256, depth=3).parameters())
        591107
    """

    def __init__(
        self, dim: int, domains: int, *, width: int, depth: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        hidden: list[nn.Module] = []
        for inputs in (dim, *[width] * (depth - 2)):
            hidden += [nn.Linear(inputs, width), nn.Dropout(dropout), nn.ReLU()]
        self.layers = nn.Sequential(*hidden, nn.Linear(width, domains))

    def forward(self, seen: Tensor) -> Tensor:
        """Logits of every domain."""
        with torch.autocast(seen.device.type, enabled=False):
            logits: Tensor = self.layers(seen.to(torch.promote_types(seen.dtype, torch.float32)))
        return logits


def gradient_penalty(logits: Tensor, seen: Tensor, domain: Tensor) -> Tensor:
    """How steep the loss of the domains is at what the discriminator saw.

    Mean over the rows of the squared length of ``d CE(h(u_i), domain_i) / d u_i``. Rows must not
    meet within the discriminator: the gradient of the sum is then that of each row.

    Args:
        logits: ``(B, n)`` of the discriminator.
        seen: ``(B, D)``, its input, which the logits were computed from.
        domain: ``(B,)`` domain numbers.

    Returns:
        Scalar, at least 0, with a graph for a second derivative.

    Source:
        DomainBed from August 2022 on. Its earlier releases and their descendants differentiated
        the softmax of all pairs of rows and domains instead of each row's own entry.

    Example:
        >>> u = torch.zeros(1, 2, requires_grad=True)
        >>> logits = u @ torch.tensor([[2.0, 0.0], [0.0, 0.0]])
        >>> round(gradient_penalty(logits, u, torch.tensor([0])).item(), 3)  # (2 (1/2 - 1))^2
        1.0
    """
    total = functional.cross_entropy(logits, domain, reduction="sum")
    (slope,) = torch.autograd.grad(total, seen, create_graph=True)
    return slope.square().sum(1).mean()


@torch.compiler.disable  # type: ignore[untyped-decorator]  # compiled code has one derivative only
def guess_with_penalty(
    discriminator: Discriminator, seen: Tensor, domain: Tensor
) -> tuple[Tensor, Tensor]:
    """The discriminator's logits ``(B, n)`` and their `gradient_penalty`, from one pass.

    Args:
        discriminator: Guesses the domains.
        seen: ``(B, D)``, which needs a gradient.
        domain: ``(B,)`` domain numbers.
    """
    logits = discriminator(seen)
    return logits, gradient_penalty(logits, seen, domain)
