"""The network of stored latents: none, but for what pools bags and the head that decides."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from medldr.models._attention import GatedAttention
from medldr.models.base import FeatureModel, ModelConfig, Taps
from medldr.types import DataSpec

TITLE = "Stored latents"

SPATIAL_DIMS = (0,)


class Config(ModelConfig):
    """Keys of the network of stored latents."""

    name: Literal["features"] = "features"


class Features(FeatureModel):
    """Latents as `medldr features` stored them, and a head on them: a probe.

    It has no stages, so methods that change feature maps refuse it. With ``model.adapter`` there is
    something between encoder and head that a method can shape; without it a loss on latents alone
    (CORAL, MMD) has nothing to change.

    Of bags, gated attention makes one latent each before anything else, so that methods see
    ``(B, D)``.

    Args:
        config: The head and dropout.
        spec: Numbers of each latent, classes, and whether items are bags of latents.

    Attributes:
        attention: What pools bags; None where each item is one latent.

    Source:
        Linear probing, as foundation models are judged; that every method of medldr may take the
        place of the probe's loss is our choice.

    Example:
        >>> import torch
        >>> model = build(Config(), DataSpec("multi-class", tuple("abc"), (1, 1, 1), 8, ()))
        >>> latents = torch.randn(2, 8)
        >>> torch.equal(model.features(latents), latents), model(latents).shape
        (True, torch.Size([2, 3]))
    """

    stages = ()
    maps = False

    def __init__(self, config: Config, spec: DataSpec) -> None:
        super().__init__(
            stage_dims=(),
            dim=spec.channels,
            num_classes=spec.num_classes,
            config=config,
            spatial_dims=0,
        )
        with torch.random.fork_rng(devices=[]):  # head and adapter stay what they are without it
            self.attention = GatedAttention(spec.channels) if spec.bags else None

    @property
    def memory_format(self) -> torch.memory_format:
        """Latents have no layout of their own."""
        return torch.contiguous_format

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """The latents themselves, ``(B, D)`` float32; of bags ``(B, N, D)`` one of each.

        Rows of NaN follow those of a bag that is shorter than others; they take no part.
        """
        self.require_stages(taps or (), "taps")
        values = image.to(torch.promote_types(image.dtype, torch.float32))
        if self.attention is None:
            return values
        there = ~values[..., 0].isnan()
        with torch.autocast(values.device.type, enabled=False):
            # Zeros in their place: a weight of zero times NaN would be NaN.
            pooled: Tensor = self.attention(values.masked_fill(~there.unsqueeze(2), 0), there)
        return pooled


def build(config: Config, spec: DataSpec) -> Features:
    """A head for these latents."""
    return Features(config, spec)
