"""The one transformer layer that degradation and restoration are made of.

A layer mixes every query with a set of latents and then passes it through a feed-forward part.
The positions of the layer norms and of dropout are the same for every kind of mixing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from medldr.latent._options import (
    ACTIVATION,
    DROPOUT_AT,
    SCALE_SCORES,
    Activation,
    DropoutPlace,
    Norm,
    check_ranges,
    check_word,
)


def width(dim: int, divisor: int) -> int:
    """``dim / divisor`` rounded down, and at least 1."""
    return max(1, dim // divisor)


def check_latents(name: str, z: Tensor, dim: int) -> None:
    """Raise ValueError unless ``z`` is ``(B, dim)`` with at least one row."""
    if z.ndim != 2 or z.shape[1] != dim or z.shape[0] == 0:
        raise ValueError(f"{name} should be (B, {dim}) with B >= 1, but is {tuple(z.shape)}")


def others(
    z: Tensor, z_set: Tensor | None, own: Tensor | None, include_query: bool
) -> Tensor | None:
    """Which members of the set a query may see.

    Args:
        z: ``(B, D)`` queries.
        z_set: ``(N, D)`` set; None means the queries themselves.
        own: ``(B,)`` the column of each query in ``z_set``; None with a set given apart means
            that the set holds none of the queries.
        include_query: Whether a query may see itself.

    Returns:
        ``(B, N)`` bool, or None where everything may be seen.

    Raises:
        ValueError: If nothing is left to see, or ``own`` has the wrong length.
    """
    if include_query:
        return None
    if z_set is None:
        own = torch.arange(len(z), device=z.device)
    if own is None:
        return None
    if own.shape != (len(z),):
        raise ValueError(f"own should be ({len(z)},), but is {tuple(own.shape)}")
    columns = len(z if z_set is None else z_set)
    if columns == 1:
        raise ValueError(
            "include_query=False needs at least two latents in the set, but there is only one. "
            "Use a larger batch or include_query=True"
        )
    return torch.arange(columns, device=z.device) != own.to(z.device)[:, None]


class TransformerLayer(nn.Module):
    """Mix, add, normalise; then feed-forward, add, normalise. Subclasses define how to mix.

    Args:
        dim: Latent size ``D``.
        ff_dim: Hidden width of the feed-forward part (two linear maps with bias).
        dropout: Rate of dropout, in ``[0, 1)``.
        norm: Position of the layer norms, see `forward`.
        activation: Between the two linear maps: ``relu`` or ``gelu``.
        dropout_at: Where dropout acts: ``mixing`` (after it), ``hidden`` and ``output`` (inside and
            after the feed-forward part), and with attention on the weights (``attention``).

    Raises:
        ValueError: If a width is below 1, the rate is outside ``[0, 1)`` or a word is unknown.
    """

    def __init__(
        self,
        dim: int,
        *,
        ff_dim: int,
        dropout: float,
        norm: str,
        activation: str = ACTIVATION,
        dropout_at: Sequence[str] = DROPOUT_AT,
    ) -> None:
        super().__init__()
        if dim < 1:
            raise ValueError(f"dim should be at least 1, but is {dim}")
        check_ranges(ff_dim=ff_dim, dropout=dropout)
        check_word("norm", norm, Norm)
        check_word("activation", activation, Activation)
        for place in dropout_at:
            check_word("dropout_at", place, DropoutPlace)
        if not dropout_at:
            raise ValueError("dropout_at should name a place; for no dropout at all set dropout: 0")
        self.activation = torch.relu if activation == "relu" else functional.gelu
        self.dropout_at = frozenset(dropout_at)
        self.dim = dim
        self.norm = norm
        self.norm_mix = nn.LayerNorm(dim)
        self.norm_ff = nn.LayerNorm(dim)
        self.ff_in = nn.Linear(dim, ff_dim)
        self.ff_out = nn.Linear(ff_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def mix(self, query: Tensor, z_set: Tensor, seen: Tensor | None) -> Tensor:
        """Mix each query with the set: ``(B, D)``, ``(N, D)``, ``(B, N)`` to ``(B, D)``."""
        raise NotImplementedError

    def dropped(self, value: Tensor, place: DropoutPlace) -> Tensor:
        """Dropout, if it acts at this place."""
        out: Tensor = self.dropout(value) if place in self.dropout_at else value
        return out

    def mixed(self, query: Tensor, z_set: Tensor, seen: Tensor | None) -> Tensor:
        """What mixing adds to a query."""
        return self.dropped(self.mix(query, z_set, seen), "mixing")

    def feed_forward(self, z: Tensor) -> Tensor:
        """Two linear maps with an activation between."""
        hidden = self.dropped(self.activation(self.ff_in(z)), "hidden")
        return self.dropped(self.ff_out(hidden), "output")

    def layer(self, query: Tensor, z_set: Tensor, seen: Tensor | None) -> Tensor:
        """Run the layer in the precision of its weights, never in that of autocast.

        With M for mixing, F for feed-forward and LN for layer norm:

        * ``post``: ``a = LN(q + M(q, s))``, ``LN(a + F(a))``
        * ``residual``: ``a = LN(q) + M(q, s)``, ``LN(a) + F(a)``
        * ``pre``: ``a = q + M(LN(q), LN(s))``, ``a + F(LN(a))``
        """
        with torch.autocast(query.device.type, enabled=False):
            same = z_set is query
            query = query.to(self.norm_mix.weight.dtype)
            z_set = query if same else z_set.to(query.dtype)
            out: Tensor
            if self.norm == "pre":
                normed = self.norm_mix(query)
                normed_set = normed if same else self.norm_mix(z_set)
                z = query + self.mixed(normed, normed_set, seen)
                out = z + self.feed_forward(self.norm_ff(z))
            elif self.norm == "residual":
                z = self.norm_mix(query) + self.mixed(query, z_set, seen)
                out = self.norm_ff(z) + self.feed_forward(z)
            else:
                z = self.norm_mix(query + self.mixed(query, z_set, seen))
                out = self.norm_ff(z + self.feed_forward(z))
        return out


class AttentionLayer(TransformerLayer):
    """A transformer layer that mixes by scaled dot-product attention.

    Args:
        dim: Latent size ``D``.
        head_dim: Width of each head.
        ff_dim: Hidden width of the feed-forward part.
        heads: Number of heads; query, key and value maps are ``D`` to ``heads * head_dim``.
        dropout: As in `TransformerLayer`, and on the attention weights.
        norm: As in `TransformerLayer`.
        activation: As in `TransformerLayer`.
        dropout_at: As in `TransformerLayer`.
        scale_scores: Whether the scores of a head are divided by ``sqrt(head_dim)``.

    Raises:
        ValueError: If a width or the number of heads is below 1, and as `TransformerLayer` does.
    """

    def __init__(
        self,
        dim: int,
        *,
        head_dim: int,
        ff_dim: int,
        heads: int,
        dropout: float,
        norm: str,
        activation: str = ACTIVATION,
        dropout_at: Sequence[str] = DROPOUT_AT,
        scale_scores: bool = SCALE_SCORES,
    ) -> None:
        super().__init__(
            dim,
            ff_dim=ff_dim,
            dropout=dropout,
            norm=norm,
            activation=activation,
            dropout_at=dropout_at,
        )
        check_ranges(head_dim=head_dim, heads=heads)
        self.divisor = math.sqrt(head_dim) if scale_scores else 1.0
        self.heads = heads
        self.head_dim = head_dim
        self.query = nn.Linear(dim, heads * head_dim)
        self.key = nn.Linear(dim, heads * head_dim)
        self.value = nn.Linear(dim, heads * head_dim)
        self.out = nn.Linear(heads * head_dim, dim)

    def mix(self, query: Tensor, z_set: Tensor, seen: Tensor | None) -> Tensor:
        """Attend from each query to the members of the set it may see."""
        q, k, v = (
            linear(x).unflatten(1, (self.heads, self.head_dim)).transpose(0, 1)
            for linear, x in ((self.query, query), (self.key, z_set), (self.value, z_set))
        )
        at_least_float32 = torch.promote_types(q.dtype, torch.float32)
        scores = (q @ k.mT).to(at_least_float32) / self.divisor
        if seen is not None:
            scores = scores.masked_fill(~seen, -math.inf)
        weights = self.dropped(scores.softmax(-1), "attention").to(v.dtype)
        out: Tensor = self.out((weights @ v).transpose(0, 1).flatten(1))
        return out
