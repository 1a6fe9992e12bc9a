"""What all losses of exclusive classes share: checked inputs, training counts, soft labels."""

from __future__ import annotations

import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.losses.base import Loss
from medldr.types import DataSpec


class SoftmaxLoss(Loss):
    """A loss of exclusive classes, in float32 at least; a subclass states `of`."""

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Loss ``(B,)`` of logits ``(B, K)`` against ``(B,)`` classes or ``(B, K)`` soft labels.

        Raises:
            ValueError: If the target is neither.
        """
        with torch.autocast(logits.device.type, enabled=False):
            return self.of(*checked(self.config.name, logits, target))

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """Loss ``(B,)`` of what `checked` returns."""
        raise NotImplementedError


def checked(name: str, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Logits in float32 at least, and a target that fits them.

    Args:
        name: The loss, as messages name it.
        logits: ``(B, K)``.
        target: ``(B,)`` class numbers, or ``(B, K)`` soft labels.

    Returns:
        Both; class numbers as int64, soft labels in the type of the logits.

    Raises:
        ValueError: If the target is neither.
    """
    hard = target.ndim == 1 and len(target) == len(logits) and not target.is_floating_point()
    if not hard and not (target.shape == logits.shape and target.is_floating_point()):
        raise ValueError(
            f"the target of {name} should be ({len(logits)},) integers or "
            f"{tuple(logits.shape)} floats, but is {tuple(target.shape)} {target.dtype}"
        )
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return logits, target.long() if hard else target.to(logits.dtype)


def expected(per_class: Tensor, target: Tensor) -> Tensor:
    """Mean of a loss over the classes that a target gives weight to.

    Args:
        per_class: ``(B, K)``, each sample's loss if its class were ``k``.
        target: As `checked` returns it.

    Returns:
        ``(B,)``: ``per_class[y]``, or ``sum_k target_k per_class_k``.

    Source:
        For soft labels our choice: mixup's authors combine the losses of two labels in this way.
        For cross-entropy it is cross-entropy with the soft label.

    Example:
        >>> losses = torch.tensor([[1.0, 3.0]])
        >>> expected(losses, torch.tensor([1])), expected(losses, torch.tensor([[0.5, 0.5]]))
        (tensor([3.]), tensor([2.]))
    """
    if target.ndim == 1:
        return per_class.gather(1, target.unsqueeze(1)).squeeze(1)
    return (target * per_class).sum(1)


def counts_of_all(name: str, spec: DataSpec) -> Tensor:
    """Training images of each class ``(K,)`` float64, of which every class has at least one.

    Raises:
        InputError: If a class has none: its prior would be 0 and its logarithm infinite.
    """
    absent = [c for c, count in zip(spec.class_names, spec.class_counts, strict=True) if count < 1]
    if absent:
        raise InputError(
            f"algorithm.loss: {name} is computed from the number of training images of each class, "
            f"and there are none of {', '.join(absent)}. Use a loss that needs no such numbers "
            "(cross_entropy, focal), or leave these classes out of the data"
        )
    return torch.tensor(spec.class_counts, dtype=torch.float64)
