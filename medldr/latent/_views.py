"""What LatentDR takes to classify latents, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

Classifier = Callable[[Tensor], Tensor]
"""Maps latents ``(B, D)`` to logits ``(B, K)``."""
Criterion = Callable[[Tensor, Tensor], Tensor]
"""Maps logits and targets to the mean classification loss."""


class Views(NamedTuple):
    """Degraded and restored latents ``(B, D)``; None where no term uses them."""

    degraded: Tensor | None
    restored: Tensor | None


class Term(NamedTuple):
    """One extra term: logits ``(B, K)`` of its latents, and its unweighted loss (scalar)."""

    logits: Tensor
    loss: Tensor
