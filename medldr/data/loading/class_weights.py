"""Class weights of a loss, computed from the training rows that are actually used."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from medldr.config.training_options import ClassWeights, EffectiveNumberWeights
from medldr.errors import InputError
from medldr.types import DataSpec


def class_weights(setting: ClassWeights | None, spec: DataSpec) -> Tensor | None:
    """Weights for `training.class_weights`; from when on they count is the loop's concern.

    ``balanced`` is ``n / (K * n_k)`` with K the number of classes present, as in scikit-learn, so
    that the mean weight over the training rows is 1. A class without rows gets the neutral weight
    1, because no finite number would balance it. ``effective_number``: see `effective_number`.

    Args:
        setting: ``balanced``, one number per class, a mapping, or None.
        spec: The data, with its counts.

    Returns:
        ``(K,)`` float32, finite; None where nothing is asked.

    Raises:
        InputError: If a list has the wrong length or a useless number, or balance has no meaning.

    Example:
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (6, 2, 0), 1, (8, 8))
        >>> class_weights("balanced", spec)
        tensor([0.6667, 2.0000, 1.0000])
    """
    if setting is None:
        return None
    if isinstance(setting, tuple):
        return _given(setting, spec)
    kind = setting if isinstance(setting, str) else setting.kind
    if spec.multi_label:
        raise InputError(
            f"training.class_weights: {kind} has no meaning for multi-label data, where a row "
            "has several labels or none. Give one number per label, or leave it unset."
        )
    if isinstance(setting, EffectiveNumberWeights):
        return effective_number(spec.class_counts, setting.beta).float()
    counts = torch.tensor(spec.class_counts, dtype=torch.float64)
    present = counts > 0
    balanced = counts.sum() / (present.sum() * counts.clamp(min=1))
    return torch.where(present, balanced, 1.0).float()


def effective_number(counts: Sequence[int], beta: float) -> Tensor:
    """Weights inverse to the effective number of images, ``(K,)`` float64, summing to K.

    ``(1 - beta) / (1 - beta^n_k)``, scaled to sum to the number of classes present; a class without
    images gets the neutral weight 1.

    Args:
        counts: Training images of each class.
        beta: From 0 (all classes weigh 1) to just below 1 (nearly ``1 / n_k``).

    Source:
        Cui et al., "Class-balanced loss based on effective number of samples", 2019; LDAM's
        deferred re-weighting uses the same weights. The class without images is our choice.

    Example:
        >>> effective_number([3, 1], beta=0.5)
        tensor([0.7273, 1.2727], dtype=torch.float64)
    """
    n = torch.tensor(counts, dtype=torch.float64)
    present = n > 0
    # 1 - beta^n without the cancellation of a beta near 1.
    effective = -torch.expm1(n * torch.log(torch.tensor(beta, dtype=torch.float64)))
    inverse = torch.where(present, (1 - beta) / effective, 0.0)
    return torch.where(present, inverse * present.sum() / inverse.sum(), 1.0)


def _given(setting: tuple[float, ...], spec: DataSpec) -> Tensor:
    if len(setting) != spec.num_classes:
        raise InputError(
            f"training.class_weights has {len(setting)} numbers, but there are {spec.num_classes} "
            f"classes: {', '.join(spec.class_names)}"
        )
    weights = torch.tensor(setting, dtype=torch.float32)
    if not torch.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError(
            f"training.class_weights: {list(setting)} must be finite numbers from 0 up, not all 0"
        )
    return weights
