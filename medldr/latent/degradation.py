"""Degradation ``D``: latents that have lost the information that distinguishes the classes.

Every degradation is called as ``D(z)`` or ``D(z, z_set)`` and separates drawing from applying:
``drawn = D.draw(z)`` may be made once, stored or sent to other processes, and ``D(z, drawn=drawn)``
applies it. Dropout draws its own masks, as everywhere in torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from medldr.latent._layer import AttentionLayer, TransformerLayer, check_latents, others, width
from medldr.latent._options import (
    ACTIVATION,
    DROPOUT,
    DROPOUT_AT,
    HEADS,
    INCLUDE_QUERY,
    KEEP,
    NORM,
    SCALE_SCORES,
    SIGMA,
    SUBSET_PER,
    SUBSET_SIZE,
    SubsetPer,
    SubsetSize,
    check_ranges,
    check_word,
)


class AttentionDegradation(AttentionLayer):
    """Self-attention over the batch: the paper's SA form.

    Args:
        dim: Latent size ``D``.
        head_dim: Width of each head; ``dim / 4`` by default.
        ff_dim: Width of the feed-forward part; ``dim / 4`` by default.
        heads: Number of heads.
        dropout: Rate of dropout.
        norm: ``post``, ``residual`` or ``pre``.
        include_query: Whether a latent attends to itself.
        activation: ``relu`` or ``gelu``.
        dropout_at: Where dropout acts; on attention weights, after mixing, inside and after the
            feed-forward part by default.
        scale_scores: Whether scores are divided by ``sqrt(head_dim)``.

    Shape:
        - ``z``: ``(B, D)``; ``z_set``: ``(N, D)``, the batch itself by default.
        - Output: ``(B, D)`` in the dtype of the weights.

    Raises:
        ValueError: If an option is out of its range, an input is not ``(B, D)``, or
            ``include_query`` is false and the set is one latent alone.

    Source:
        LatentDR, eq. (SA) with the post-norm order of the appendix. ``dim / 4`` twice and
        dropout 0.5 are the paper's. One head, ReLU, biases, the projection back to ``dim``, the
        scores' scale, the places of dropout and torch's default initialisation are our choice.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> degrade, z = AttentionDegradation(8).eval(), torch.randn(4, 8)
        >>> order = torch.tensor([2, 0, 3, 1])
        >>> torch.allclose(degrade(z)[order], degrade(z[order]), atol=1e-5)
        True
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

    def draw(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        """Nothing to draw: dropout alone makes this form stochastic."""
        return

    def forward(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Tensor:
        """Degraded latents ``(B, D)``; ``own`` is each query's column in ``z_set``."""
        check_latents("z", z, self.dim)
        if z_set is not None:
            check_latents("z_set", z_set, self.dim)
        seen = others(z, z_set, own, self.include_query)
        return self.layer(z, z if z_set is None else z_set, seen)


class PoolDegradation(TransformerLayer):
    """The mean of a random subset of the batch: the paper's Pool form.

    Args:
        dim: Latent size ``D``.
        ff_dim: Width of the feed-forward part; ``dim / 8`` by default.
        keep: Probability with which each member of the set enters a query's own subset.
        dropout: Rate of dropout.
        norm: ``post``, ``residual`` or ``pre``.
        include_query: Whether a latent may be in its own subset.
        activation: ``relu`` or ``gelu``.
        dropout_at: Where dropout acts; after mixing, inside and after the feed-forward part by
            default. There are no attention weights.
        subset_per: ``query``: each draws its own subset; ``batch``: one draw serves all, and only
            ``include_query`` false makes their subsets differ.
        subset_size: ``random``: members enter independently of each other; ``fixed``: a subset
            holds ``keep`` times the members it may have, rounded, and at least one.

    Shape:
        - ``z``: ``(B, D)``; ``z_set``: ``(N, D)``, the batch itself by default.
        - ``drawn``: ``(B, N)`` bool, the subset of each query.
        - Output: ``(B, D)`` in the dtype of the weights.

    Raises:
        ValueError: If an option is out of its range, an input is not ``(B, D)``, or
            ``include_query`` is false and the set is one latent alone.

    Source:
        LatentDR, eq. (Pool). ``dim / 8`` and dropout 0.5 are the paper's. What the subset is, is
        our choice: every query keeps each latent with probability ``keep`` 0.5, and the one with
        the smallest draw where that leaves none; in eval mode the whole set is averaged. The paper
        takes "a different subset of samples", which may also mean one for each batch, or one of a
        fixed size: ``subset_per`` and ``subset_size``.

    Example:
        >>> degrade, z = PoolDegradation(8, keep=0.25), torch.randn(6, 8)
        >>> subset = degrade.draw(z)
        >>> subset.shape, bool(subset.any(1).all())
        (torch.Size([6, 6]), True)
        >>> degrade(z, drawn=subset).shape
        torch.Size([6, 8])
    """

    def __init__(
        self,
        dim: int,
        *,
        ff_dim: int | None = None,
        keep: float = KEEP,
        dropout: float = DROPOUT,
        norm: str = NORM,
        include_query: bool = INCLUDE_QUERY,
        activation: str = ACTIVATION,
        dropout_at: Sequence[str] = DROPOUT_AT,
        subset_per: str = SUBSET_PER,
        subset_size: str = SUBSET_SIZE,
    ) -> None:
        super().__init__(
            dim,
            ff_dim=width(dim, 8) if ff_dim is None else ff_dim,
            dropout=dropout,
            norm=norm,
            activation=activation,
            dropout_at=dropout_at,
        )
        check_ranges(keep=keep)
        check_word("subset_per", subset_per, SubsetPer)
        check_word("subset_size", subset_size, SubsetSize)
        self.keep = keep
        self.per_query = subset_per == "query"
        self.fixed_size = subset_size == "fixed"
        self.include_query = include_query

    def draw(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The subset of each query: ``(B, N)`` bool, at least one member in every row."""
        columns = len(z if z_set is None else z_set)
        device = z.device if generator is None else generator.device
        # torch.compile does not take a generator, not even None, so it is passed only where given.
        source: dict[str, Any] = {} if generator is None else {"generator": generator}
        draws = len(z) if self.per_query else 1
        chance = torch.rand(draws, columns, device=device, **source).to(z.device)
        chance = chance.expand(len(z), columns)
        seen = others(z, z_set, own, self.include_query)
        if seen is not None:
            chance = chance.masked_fill(~seen, 2.0)
        if self.fixed_size:
            size = max(1, round(self.keep * (columns if seen is None else columns - 1)))
            members = chance.topk(size, dim=1, largest=False).indices
            return torch.zeros_like(chance, dtype=torch.bool).scatter(1, members, True)
        # Where nothing falls below `keep`, the smallest draw is a fair pick of one member.
        return (chance < self.keep) | (chance == chance.amin(1, keepdim=True))

    def forward(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Tensor:
        """Degraded latents ``(B, D)``; ``own`` is each query's column in ``z_set``."""
        check_latents("z", z, self.dim)
        if z_set is not None:
            check_latents("z_set", z_set, self.dim)
        if drawn is None and self.training:
            drawn = self.draw(z, z_set, own=own)
        subset = others(z, z_set, own, self.include_query) if drawn is None else drawn
        return self.layer(z, z if z_set is None else z_set, subset)

    def mix(self, query: Tensor, z_set: Tensor, seen: Tensor | None) -> Tensor:
        """Average the members of each query's subset."""
        if seen is None:
            return z_set.mean(0, keepdim=True).expand_as(query)
        weights = seen.to(z_set.dtype)
        return weights / weights.sum(1, keepdim=True) @ z_set


class GaussianDegradation(nn.Module):
    """Independent normal noise: the paper's ablation without sample-to-sample relations.

    Args:
        sigma: Standard deviation of the noise, in the units of the latents.

    Shape:
        - ``z``, ``drawn`` (standard normal) and output: ``(B, D)``. Other arguments are ignored.

    Raises:
        ValueError: If ``sigma`` is negative.

    Source:
        LatentDR, table of ablations: noise N(0, 1) in place of the degradation. In eval mode
        nothing is added (our choice).

    Example:
        >>> z = torch.zeros(2, 3)
        >>> GaussianDegradation(0.5)(z, drawn=torch.ones(2, 3)).tolist()
        [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """

    def __init__(self, sigma: float = SIGMA) -> None:
        super().__init__()
        check_ranges(sigma=sigma)
        self.sigma = sigma

    def draw(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Standard normal noise of the latents' shape."""
        device = z.device if generator is None else generator.device
        source: dict[str, Any] = {} if generator is None else {"generator": generator}
        return torch.randn(z.shape, device=device, dtype=z.dtype, **source).to(z.device)

    def forward(
        self,
        z: Tensor,
        z_set: Tensor | None = None,
        *,
        own: Tensor | None = None,
        drawn: Tensor | None = None,
    ) -> Tensor:
        """Noisy latents ``(B, D)``."""
        if drawn is None and self.training:
            drawn = self.draw(z)
        return z if drawn is None else z + self.sigma * drawn
