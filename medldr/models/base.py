"""The contract of every network: features, then a head; named stages; taps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from medldr.config import PluginSection

STAGES = ("stem", "stage1", "stage2", "stage3", "stage4")

NARROW = 8
"""Channels of a stage below which pictures lie channels first; see `FeatureModel.memory_format`."""

Tap = Callable[[Tensor], Tensor]
"""Receives a stage's output and returns what goes on to the next stage."""

Taps = Mapping[str, Tap]
"""Taps by stage name. They are bound methods or modules made once, so that compiled code stays."""


class ModelConfig(PluginSection):
    """Keys that every network has."""

    width: float = Field(1.0, gt=0, description="factor on the number of channels")
    head: Literal["linear", "cosine"] = "linear"
    weights: Path | None = Field(
        None, description="safetensors file of a 2D or 3D network of the same kind to start from"
    )
    pretrained: str | None = Field(
        None,
        description="id of published weights to start from, such as "
        "ResNet50_Weights.IMAGENET1K_V1; `medldr data fetch weights:<id>` brings them",
    )
    allow_download: bool = Field(
        False, description="allow fetching absent published weights from the network"
    )
    batch_norm: Literal["live", "frozen"] = Field(
        "live",
        description="frozen: normalisation keeps its first statistics (eval mode) while its scale "
        "and shift train, as DomainBed does",
    )


def scaled(channels: int, width: float) -> int:
    """A number of channels times the width factor, at least one.

    Example:
        >>> scaled(64, 0.125), scaled(64, 0.001)
        (8, 1)
    """
    return max(1, round(channels * width))


class CosineHead(nn.Module):
    """Scaled cosine between latents and one learned direction per class.

    Shape:
        - Input ``(B, D)``, output ``(B, K)``.

    Source:
        The normalised classifier of the long-tail literature (LDAM); ``scale`` 16 by default.
    """

    def __init__(self, dim: int, num_classes: int, scale: float = 16.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_classes, dim))
        nn.init.kaiming_uniform_(self.weight, a=5**0.5)
        self.scale = scale

    def forward(self, z: Tensor) -> Tensor:
        """Return ``scale * cos(z, w_k)`` for every class."""
        unit = nn.functional.normalize(z, dim=1)
        return self.scale * unit @ nn.functional.normalize(self.weight, dim=1).T


class FeatureModel(nn.Module):
    """A network in two halves: `features` makes latents, `classify` makes logits of them.

    Subclasses set `stage_dims` and implement `features`, in which each of `stages` runs once and
    passes its output through `tap`. Latents and logits are float32 also under autocast.

    Attributes:
        stages: Names of the stages, the same for every network.
        stage_dims: Channels of each stage's output.
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        head: Maps latents to logits.
        spatial_dims: 2 for pictures, 3 for volumes.
        notes: What a reader of the run should know of how the network was made.
        stem_weight: Key of the first kernel in the state dict, which follows the input channels.
    """

    stages: ClassVar[tuple[str, ...]] = STAGES
    stem_weight: ClassVar[str | None] = None

    def __init__(
        self,
        *,
        stage_dims: tuple[int, ...],
        dim: int,
        num_classes: int,
        head: str = "linear",
        spatial_dims: int = 2,
    ) -> None:
        super().__init__()
        self.spatial_dims = spatial_dims
        self.notes: list[str] = []
        self.stage_dims = stage_dims
        self.dim = dim
        self.num_classes = num_classes
        self.head: nn.Module = (
            nn.Linear(dim, num_classes) if head == "linear" else CosineHead(dim, num_classes)
        )

    def features(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents ``(B, D)`` float32 of images ``(B, C, [D,] H, W)``.

        Args:
            image: The network's input.
            taps: By stage name; each receives its stage's output and returns what goes on.
        """
        raise NotImplementedError

    def classify(self, z: Tensor) -> Tensor:
        """Logits ``(B, K)`` of latents ``(B, D)``, in float32 also under autocast."""
        with torch.autocast(z.device.type, enabled=False):
            logits: Tensor = self.head(z.to(torch.promote_types(z.dtype, torch.float32)))
        return logits

    def forward(self, image: Tensor) -> Tensor:
        """Logits of images: what prediction and export use."""
        return self.classify(self.features(image))

    @property
    def memory_format(self) -> torch.memory_format:
        """How images should lie in memory: channels last is the fastest everywhere we measured.

        Not for pictures in a network with a stage of fewer than `NARROW` channels: there torch
        2.14's CPU kernel for the gradient of a strided 1x1 convolution writes beyond its memory.
        """
        if self.spatial_dims == 3:
            return torch.channels_last_3d
        narrow = min(self.stage_dims) < NARROW
        return torch.contiguous_format if narrow else torch.channels_last

    def to_fast_memory(self) -> FeatureModel:
        """Lay kernels out as `memory_format` says, in place; values do not change."""
        for parameter in self.parameters():
            if parameter.ndim == 2 + self.spatial_dims:
                parameter.data = parameter.data.contiguous(memory_format=self.memory_format)
        return self

    def arrange(self, image: Tensor) -> Tensor:
        """The image laid out as `memory_format` says, so that every later stage is too."""
        if self.memory_format == torch.contiguous_format:
            return image.contiguous()
        if image.shape[1] == 1:
            # One channel is contiguous either way, and torch would then fall back to channels
            # first for all that follows. A view whose strides say "last" costs nothing.
            return image.squeeze(1).contiguous().unsqueeze(-1).movedim(-1, 1)
        return image.contiguous(memory_format=self.memory_format)

    def pool(self, value: Tensor) -> Tensor:
        """Global average over all axes of space, ``(B, C, [D,] H, W)`` to ``(B, C)`` float32."""
        return value.flatten(2).mean(2, dtype=torch.promote_types(value.dtype, torch.float32))

    @staticmethod
    def our_key(key: str) -> str:
        """Translate a key of a weights file into our state dict's; ours stay as they are."""
        return key

    @staticmethod
    def tap(stage: str, value: Tensor, taps: Taps | None) -> Tensor:
        """Pass a stage's output through its tap, if there is one."""
        return taps[stage](value) if taps is not None and stage in taps else value
