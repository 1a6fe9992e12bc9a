"""Class weights of a loss, computed from the training rows that are actually used."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.types import DataSpec


def class_weights(
    setting: Literal["balanced"] | tuple[float, ...] | None, spec: DataSpec
) -> Tensor | None:
    """Weights for `training.class_weights`.

    ``balanced`` is ``n / (K * n_k)`` with K the number of classes present, as in scikit-learn, so
    that the mean weight over the training rows is 1. A class without rows gets the neutral weight
    1, because no finite number would balance it.

    Args:
        setting: ``balanced``, one number per class, or None.
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
    if setting == "balanced":
        if spec.multi_label:
            raise InputError(
                "training.class_weights: balanced has no meaning for multi-label data, where a row "
                "has several labels or none. Give one number per label, or leave it unset."
            )
        counts = torch.tensor(spec.class_counts, dtype=torch.float64)
        present = counts > 0
        balanced = counts.sum() / (present.sum() * counts.clamp(min=1))
        return torch.where(present, balanced, 1.0).float()
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
