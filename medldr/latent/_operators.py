"""The degradation and the restoration that the options of LatentDR name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.latent._layer import width
from medldr.latent.degradation import AttentionDegradation, GaussianDegradation, PoolDegradation
from medldr.latent.restoration import AttentionRestoration

Degradation = AttentionDegradation | PoolDegradation | GaussianDegradation
Restoration = AttentionRestoration | AttentionDegradation


def build_operators(
    dim: int,
    *,
    degrade: str,
    restored: bool,
    share_operators: bool,
    head_dim: int | None,
    ff_dim: int | None,
    sigma: float,
    layer: Mapping[str, Any],
    attention: Mapping[str, Any],
    subset: Mapping[str, Any],
) -> tuple[Degradation | None, Restoration | None]:
    """D and R, each None where no term uses it; one and the same where they are shared.

    Widths that are not given are the paper's: those of its SA form, else those of its Pool form.

    Args:
        dim: Latent size ``D``.
        degrade: Which degradation.
        restored: Whether a term uses R.
        share_operators: Whether D and R are one layer.
        head_dim: Width of each attention head.
        ff_dim: Width of the feed-forward parts.
        sigma: Of the Gaussian degradation.
        layer: Further options of every layer.
        attention: Those of attention alone.
        subset: Those of Pool's draw.

    Raises:
        ValueError: If an option is out of its range.
    """
    sa = degrade == "attention"
    head_dim = width(dim, 4 if sa else 32) if head_dim is None else head_dim
    layer = {"ff_dim": width(dim, 4 if sa else 8) if ff_dim is None else ff_dim, **layer}
    attention = {"head_dim": head_dim, **layer, **attention}
    degradation: Degradation | None = None
    if sa:
        degradation = AttentionDegradation(dim, **attention)
    elif degrade == "pool":
        degradation = PoolDegradation(dim, **layer, **subset)
    elif degrade == "gaussian":
        degradation = GaussianDegradation(sigma)
    if share_operators and isinstance(degradation, AttentionDegradation):
        return degradation, degradation
    return degradation, AttentionRestoration(dim, **attention) if restored else None
