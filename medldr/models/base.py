"""The contract of every network: features, then a head; named stages; taps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from medldr.config import PluginSection

STAGES = ("stem", "stage1", "stage2", "stage3", "stage4")

Tap = Callable[[Tensor], Tensor]
"""Receives a stage's output and returns what goes on to the next stage."""

Taps = Mapping[str, Tap]
"""Taps by stage name. They are bound methods or modules made once, so that compiled code stays."""


class ModelConfig(PluginSection):
    """Keys that every network has."""

    width: float = Field(1.0, gt=0, description="factor on the number of channels")
    head: Literal["linear", "cosine"] = "linear"
    weights: str | None = Field(
        None, description="safetensors file of a 2D or 3D network of the same kind to start from"
    )


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
    """

    stages: ClassVar[tuple[str, ...]] = STAGES

    def __init__(
        self, *, stage_dims: tuple[int, ...], dim: int, num_classes: int, head: str = "linear"
    ) -> None:
        super().__init__()
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
            logits: Tensor = self.head(z.float())
        return logits

    def forward(self, image: Tensor) -> Tensor:
        """Logits of images: what prediction and export use."""
        return self.classify(self.features(image))

    @staticmethod
    def tap(stage: str, value: Tensor, taps: Taps | None) -> Tensor:
        """Pass a stage's output through its tap, if there is one."""
        return taps[stage](value) if taps is not None and stage in taps else value
