"""The contract of every network: features, then a head; named stages; taps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.config import PluginSection
from medldr.errors import InputError, did_you_mean

STAGES = ("stem", "stage1", "stage2", "stage3", "stage4")

NARROW = 8
"""With fewer channels in a stage, pictures are channels first; see `FeatureModel.memory_format`."""

Tap = Callable[[Tensor], Tensor]
"""Receives a stage's output and returns the input of the next stage."""

Taps = Mapping[str, Tap]
"""Taps by stage name: bound methods or modules made once, to avoid recompilation."""


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
        "ResNet50_Weights.IMAGENET1K_V1; `medldr data fetch weights:<id>` downloads them",
    )
    allow_download: bool = Field(
        False, description="download missing published weights from the network"
    )
    batch_norm: Literal["live", "frozen"] = Field(
        "live",
        description="frozen: normalisation keeps its first statistics (eval mode) while its scale "
        "and shift train, as DomainBed does",
    )

    @model_validator(mode="after")
    def _one_start(self) -> ModelConfig:
        if self.pretrained is None:
            return self
        if self.weights is not None:
            raise ValueError(
                "pretrained and weights both set what the network starts from; set only one of them"
            )
        stem = getattr(self, "stem", "imagenet")
        if stem != "imagenet" or self.width != 1:
            wrong, cure = ("width", "width: 1") if self.width != 1 else ("stem", "stem: imagenet")
            raise ValueError(
                f"pretrained {self.pretrained} does not fit this {wrong}: published weights are "
                f"for the full network. Set model.{cure}, or leave model.pretrained out"
            )
        return self


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
        stages: Names of the stages, in order; a network without a stem of its own has four.
        stage_dims: Channels of each stage's output.
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        head: Maps latents to logits.
        spatial_dims: 2 for pictures, 3 for volumes.
        maps: Whether stages put out maps ``(B, C, [D,] H, W)``; false for tokens ``(B, T, C)``.
        batch_norm_frozen: Whether batch normalisation keeps its statistics also while training.
        notes: What readers of the run should know about how the network was made.
        stem_weight: Key of the first kernel in the state dict, which follows the input channels.
    """

    stages: tuple[str, ...] = STAGES
    maps: bool = True
    batch_norm_frozen: bool = False
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
            taps: By stage name; each receives its stage's output and returns the next input.
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

    def train(self, mode: bool = True) -> FeatureModel:
        """As in torch, except that frozen batch normalisation stays in eval mode."""
        super().train(mode)
        if self.batch_norm_frozen:
            for module in self.modules():
                if isinstance(module, _BatchNorm):
                    module.eval()
        return self

    def freeze_batch_norm(self) -> None:
        """Keep the statistics of every batch normalisation as they are, from here on.

        Scale and shift stay trainable. It lasts through copies and changes of layout.

        Raises:
            InputError: If one keeps no statistics, as eval mode would then use the batch's.

        Source:
            DomainBed, whose tables are made this way: batches of different domains have different
            statistics. It froze 2D normalisation only; here every kind is frozen.
        """
        for name, module in self.named_modules():
            if isinstance(module, _BatchNorm) and module.running_mean is None:
                raise InputError(
                    f"model.batch_norm: {name} keeps no running statistics to freeze. "
                    "Set model.batch_norm: live"
                )
        self.batch_norm_frozen = True
        self.train(self.training)

    def share_batch_norm(self) -> FeatureModel:
        """Have batch normalisation see the rows of all processes; torch can on CUDA only."""
        nn.SyncBatchNorm.convert_sync_batchnorm(self)  # type: ignore[no-untyped-call]
        return self

    def require_stages(self, names: Iterable[str], who: str, *, maps: bool = False) -> None:
        """Refuse taps that this network cannot serve; a method calls it when it is made.

        Args:
            names: Stages that the method taps.
            who: The key that names them, such as ``algorithm.stages``.
            maps: Whether the method needs maps with axes of space.

        Raises:
            InputError: Naming the stage, the network's own and the cure.
        """
        for name in names:
            if name not in self.stages:
                raise InputError(
                    f"{who}: this network has no stage {name!r}.{did_you_mean(name, self.stages)} "
                    f"Its stages: {', '.join(self.stages)}"
                )
        if maps and not self.maps:
            raise InputError(
                f"{who}: this method changes feature maps, but the stages of this network output "
                "tokens. Choose a network with feature maps, such as resnet50 or a ConvNeXt"
            )

    @property
    def memory_format(self) -> torch.memory_format:
        """Memory layout of images: channels last is the fastest everywhere we measured.

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
        """The image laid out as `memory_format` says, and with it every later stage."""
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
        """Translate a key of a weights file into our state dict's; ours are not changed."""
        return key

    @staticmethod
    def tap(stage: str, value: Tensor, taps: Taps | None) -> Tensor:
        """Pass a stage's output through its tap, if there is one."""
        return taps[stage](value) if taps is not None and stage in taps else value
