"""The label of degraded latents, and a plain classification loss for loops without one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def mean_label(y: Tensor, num_classes: int) -> Tensor:
    """The soft label of degraded latents: the mean of a batch's one-hot or multi-hot labels.

    Args:
        y: ``(B,)`` integer class numbers, or ``(B, K)`` float with NaN for missing entries.
        num_classes: Number of classes ``K``.

    Returns:
        ``(K,)``, float32 (float64 for float64 labels). Each column is the mean over its known
        entries, and NaN where there are none.

    Raises:
        ValueError: If the labels are neither ``(B,)`` integers nor ``(B, K)`` floats.

    Source:
        LatentDR, with weights ``1 / B``. Missing entries are left out (our choice).

    Example:
        >>> mean_label(torch.tensor([0, 0, 1, 2]), 3).tolist()
        [0.5, 0.25, 0.25]
    """
    if y.ndim == 1 and not y.is_floating_point():
        return functional.one_hot(y.long(), num_classes).float().mean(0)
    if y.ndim == 2 and y.shape[1] == num_classes and y.is_floating_point():
        return y.to(torch.promote_types(y.dtype, torch.float32)).nanmean(0)
    raise ValueError(
        f"labels should be (B,) integers or (B, {num_classes}) floats, "
        f"but are {tuple(y.shape)} {y.dtype}"
    )


def classification_loss(
    logits: Tensor, target: Tensor, num_classes: int, multi_label: bool
) -> Tensor:
    """Mean loss of logits ``(B, K)``: cross-entropy, or binary over the known entries per row.

    A row without a known label counts as 0.

    Raises:
        ValueError: If logits or labels do not have the stated shape.
    """
    if logits.ndim != 2 or logits.shape[1] != num_classes:
        raise ValueError(f"logits should be (B, {num_classes}), but are {tuple(logits.shape)}")
    hard = target.ndim == 1 and not target.is_floating_point() and not multi_label
    if target.shape != (logits.shape[:1] if hard else logits.shape):
        wanted = "" if multi_label else f"({len(logits)},) integers or "
        raise ValueError(
            f"labels should be {wanted}{tuple(logits.shape)} floats, but are "
            f"{tuple(target.shape)} {target.dtype}"
        )
    with torch.autocast(logits.device.type, enabled=False):
        logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
        if not multi_label:
            return functional.cross_entropy(
                logits, target.long() if hard else target.to(logits.dtype)
            )
        target = target.to(logits.dtype)
        known = ~target.isnan()
        each = functional.binary_cross_entropy_with_logits(
            logits, target.nan_to_num(), reduction="none"
        )
        per_row = (each * known).sum(1) / known.sum(1).clamp_min(1)
        return per_row.mean()
