"""The degradation and the restoration that the options of LatentDR name."""

from __future__ import annotations

from collections.abc import Sequence
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
    head_dim: int | None,
    ff_dim: int | None,
    heads: int,
    keep: float,
    include_query: bool,
    dropout: float,
    norm: str,
    share_operators: bool,
    sigma: float,
    activation: str,
    dropout_at: Sequence[str],
    scale_scores: bool,
    subset_per: str,
    subset_size: str,
) -> tuple[Degradation | None, Restoration | None]:
    """D and R, each None where no term uses it; one and the same where they are shared.

    Widths that are not given are the paper's: those of its SA form, else those of its Pool form.

    Raises:
        ValueError: If an option is out of its range.
    """
    sa = degrade == "attention"
    head_dim = width(dim, 4 if sa else 32) if head_dim is None else head_dim
    ff_dim = width(dim, 4 if sa else 8) if ff_dim is None else ff_dim
    layer: dict[str, Any] = {
        "ff_dim": ff_dim,
        "dropout": dropout,
        "norm": norm,
        "include_query": include_query,
        "activation": activation,
        "dropout_at": dropout_at,
    }
    attention = layer | {"head_dim": head_dim, "heads": heads, "scale_scores": scale_scores}
    degradation: Degradation | None = None
    if sa:
        degradation = AttentionDegradation(dim, **attention)
    elif degrade == "pool":
        degradation = PoolDegradation(
            dim, keep=keep, subset_per=subset_per, subset_size=subset_size, **layer
        )
    elif degrade == "gaussian":
        degradation = GaussianDegradation(sigma)
    if share_operators and isinstance(degradation, AttentionDegradation):
        return degradation, degradation
    return degradation, AttentionRestoration(dim, **attention) if restored else None
