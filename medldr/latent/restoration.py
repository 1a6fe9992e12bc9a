"""Restoration ``R``: recover latents from degraded ones with the help of the originals."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from medldr.latent._layer import AttentionLayer, check_latents, others, width
from medldr.latent._options import (
    ACTIVATION,
    DROPOUT,
    DROPOUT_AT,
    HEADS,
    INCLUDE_QUERY,
    NORM,
    SCALE_SCORES,
)


class AttentionRestoration(AttentionLayer):
    """Cross-attention from degraded latents to the original ones.

    Args:
        dim: Latent size ``D``.
        head_dim: Width of each head; ``dim / 4`` by default (`LatentDR` gives ``dim / 32``
            except with an attention degradation).
        ff_dim: Width of the feed-forward part; ``dim / 4`` by default (``dim / 8`` there).
        heads: Number of heads.
        dropout: Rate of dropout.
        norm: ``post``, ``residual`` or ``pre``; with ``pre`` one layer norm serves queries and
            set, which makes restoring undegraded latents self-attention in every form.
        include_query: Whether a degraded latent attends to its own original.
        activation: ``relu`` or ``gelu``.
        dropout_at: Where dropout acts, as in `AttentionDegradation`.
        scale_scores: Whether scores are divided by ``sqrt(head_dim)``.

    Shape:
        - ``z_d``: ``(B, D)`` queries; ``z_set``: ``(N, D)`` keys and values.
        - Output: ``(B, D)`` in the dtype of the weights.

    Raises:
        ValueError: If an option is out of its range, an input is not ``(B, D)``, or
            ``include_query`` is false and the set is one latent alone.

    Source:
        LatentDR, eq. (restoration) with the post-norm order of the appendix; ``z_r = R(z_d, z)``
        as in its pseudocode. The paper prints the scores without a scale there and with
        ``1 / sqrt(d_k)`` in its background section; we scale (``scale_scores``). Further
        choices of ours are those of `AttentionDegradation`.

    Example:
        >>> import torch
        >>> restore = AttentionRestoration(8)
        >>> restore(torch.randn(2, 8), torch.randn(5, 8)).shape
        torch.Size([2, 8])
    """

    def __init__(
        self,
        dim: int,
        *,
        head_dim: int | None = None,
        ff_dim: int | None = None,
        heads: int = HEADS,
        dropout: float = DROPOUT,
        norm: str = NORM,
        include_query: bool = INCLUDE_QUERY,
        activation: str = ACTIVATION,
        dropout_at: Sequence[str] = DROPOUT_AT,
        scale_scores: bool = SCALE_SCORES,
    ) -> None:
        super().__init__(
            dim,
            head_dim=width(dim, 4) if head_dim is None else head_dim,
            ff_dim=width(dim, 4) if ff_dim is None else ff_dim,
            heads=heads,
            dropout=dropout,
            norm=norm,
            activation=activation,
            dropout_at=dropout_at,
            scale_scores=scale_scores,
        )
        self.include_query = include_query

    def forward(self, z_d: Tensor, z_set: Tensor, *, own: Tensor | None = None) -> Tensor:
        """Restored latents ``(B, D)``; ``own`` is the column of each query's original in the set.

        None means that the set holds none of the originals.
        """
        check_latents("z_d", z_d, self.dim)
        check_latents("z_set", z_set, self.dim)
        return self.layer(z_d, z_set, others(z_d, z_set, own, self.include_query))
