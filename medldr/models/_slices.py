"""A volume as the set of its slices, for networks of pictures: one latent of all of them.

Slices are axial and lie as they are read: the front of the patient above, the patient's right on
the left of the picture, so that a network which has learned from such pictures finds them. What a
tap gets is put together again, ``(B, C, X, Y, Z)``, so that methods and heat maps see volumes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from torch import Tensor, nn

from medldr.models._attention import GatedAttention
from medldr.types import DataSpec

Pooling = Literal["mean", "max", "attention"]


def of_one_slice(spec: DataSpec) -> DataSpec:
    """The description of the pictures that volumes ``(X, Y, Z)`` are cut into."""
    x, y, _ = spec.spatial_size
    return replace(spec, spatial_size=(y, x))


class Slices(nn.Module):
    """Cut volumes into pictures, and make one latent of theirs.

    Args:
        pooling: ``mean``, ``max`` (of each entry), or gated ``attention``.
        depth: Slices ``Z`` of a volume.
        dim: Latent size ``D``.

    Source:
        A set of slices through an adapted network
        of pictures, under attention: AnyMC3D (2025), which also gives each task a query.

    Example:
        >>> import torch
        >>> slices = Slices("mean", depth=4, dim=2)
        >>> volume = torch.rand(3, 1, 6, 5, 4)
        >>> pictures = slices.pictures(volume)
        >>> pictures.shape, torch.equal(slices.volume(pictures), volume)
        (torch.Size([12, 1, 5, 6]), True)
    """

    def __init__(self, pooling: Pooling, depth: int, dim: int) -> None:
        super().__init__()
        self.pooling = pooling
        self.depth = depth
        if pooling == "attention":
            self.attention = GatedAttention(dim)

    def pictures(self, volume: Tensor) -> Tensor:
        """Volumes ``(B, C, X, Y, Z)`` in RAS+ as pictures ``(B * Z, C, Y, X)``."""
        return volume.permute(0, 4, 1, 3, 2).flip(3, 4).flatten(0, 1)

    def volume(self, pictures: Tensor) -> Tensor:
        """The way back, for maps of any size."""
        each = pictures.reshape(-1, self.depth, *pictures.shape[1:])
        return each.flip(3, 4).permute(0, 2, 4, 3, 1)

    def tap(self, tap: Callable[[Tensor], Tensor], *, maps: bool) -> Callable[[Tensor], Tensor]:
        """A tap whose rows are volumes, as one whose rows are slices; tokens follow each other."""

        def of_slices(value: Tensor) -> Tensor:
            if maps:
                return self.pictures(tap(self.volume(value)))
            volumes = tap(value.reshape(-1, self.depth * value.shape[1], value.shape[2]))
            return volumes.reshape(value.shape)

        return of_slices

    def forward(self, z: Tensor) -> Tensor:
        """Latents of volumes ``(B, D)`` of those of their slices ``(B * Z, D)``."""
        each = z.reshape(-1, self.depth, z.shape[1])
        if self.pooling == "mean":
            return each.mean(1)
        if self.pooling == "max":
            return each.amax(1)
        pooled: Tensor = self.attention(each)
        return pooled
