"""The degradation and the restoration that the options of LatentDR name."""

from __future__ import annotations

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
) -> tuple[Degradation | None, Restoration | None]:
    """D and R, each None where no term uses it; one and the same where they are shared.

    Widths that are not given are the paper's: those of its SA form, else those of its Pool form.

    Raises:
        ValueError: If an option is out of its range.
    """
    sa = degrade == "attention"
    head_dim = width(dim, 4 if sa else 32) if head_dim is None else head_dim
    ff_dim = width(dim, 4 if sa else 8) if ff_dim is None else ff_dim
    degradation: Degradation | None = None
    if degrade == "attention":
        degradation = AttentionDegradation(
            dim,
            head_dim=head_dim,
            ff_dim=ff_dim,
            heads=heads,
            dropout=dropout,
            norm=norm,
            include_query=include_query,
        )
    elif degrade == "pool":
        degradation = PoolDegradation(
            dim,
            ff_dim=ff_dim,
            keep=keep,
            dropout=dropout,
            norm=norm,
            include_query=include_query,
        )
    elif degrade == "gaussian":
        degradation = GaussianDegradation(sigma)
    if share_operators and isinstance(degradation, AttentionDegradation):
        return degradation, degradation
    if not restored:
        return degradation, None
    return degradation, AttentionRestoration(
        dim,
        head_dim=head_dim,
        ff_dim=ff_dim,
        heads=heads,
        dropout=dropout,
        norm=norm,
        include_query=include_query,
    )
