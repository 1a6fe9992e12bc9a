"""The label of degraded latents, and a plain classification loss for loops without one."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def mean_label(y: Tensor, num_classes: int, weights: Tensor | None = None) -> Tensor:
    """The soft label of degraded latents: the mean of a batch's one-hot or multi-hot labels.

    Args:
        y: ``(B,)`` integer class numbers, or ``(B, K)`` float with NaN for missing entries.
        num_classes: Number of classes ``K``.
        weights: ``(B,)`` of the samples in the mean, from 0 up; equal by default. Where all that
            count for an entry are 0, it is 0.

    Returns:
        ``(K,)``, float32 (float64 for float64 labels). Each column is the mean over its known
        entries, and NaN where there are none.

    Raises:
        ValueError: If the labels are neither ``(B,)`` integers nor ``(B, K)`` floats.

    Source:
        LatentDR: ``sum_i w_i y_i``, for which the paper takes ``w_i = 1 / B`` "for simplicity".
        Other weights, scaled to sum to one, and leaving out missing entries are our choice.

    Example:
        >>> mean_label(torch.tensor([0, 0, 1, 2]), 3).tolist()
        [0.5, 0.25, 0.25]
    """
    if y.ndim == 1 and not y.is_floating_point():
        y = functional.one_hot(y.long(), num_classes).float()
    elif y.ndim == 2 and y.shape[1] == num_classes and y.is_floating_point():
        y = y.to(torch.promote_types(y.dtype, torch.float32))
    else:
        raise ValueError(
            f"labels should be (B,) integers or (B, {num_classes}) floats, "
            f"but are {tuple(y.shape)} {y.dtype}"
        )
    if weights is None:
        return y.nanmean(0)
    known = ~y.isnan()
    share = known * weights.to(y.dtype).unsqueeze(1)
    total = share.sum(0).clamp_min(torch.finfo(y.dtype).tiny)
    return torch.where(known.any(0), (share * y.nan_to_num()).sum(0) / total, torch.nan)


def label_entropy(soft: Tensor, multi_label: bool) -> Tensor:
    """Entropy of a soft label: the least cross-entropy that any prediction has against it.

    Args:
        soft: ``(K,)``, as `mean_label` returns it.
        multi_label: Labels are independent: the mean over the known entries of their entropies.

    Returns:
        Scalar, in natural units.

    Example:
        >>> label_entropy(torch.tensor([0.5, 0.5, 0.0]), False), label_entropy(torch.ones(2), True)
        (tensor(0.6931), tensor(0.))
    """
    known, p = ~soft.isnan(), soft.nan_to_num()
    each: Tensor = torch.special.entr(p)
    if not multi_label:
        return each.sum()
    each = each + torch.special.entr(1 - p)
    return (each * known).sum() / known.sum().clamp_min(1)


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
