"""The contract of every network: features, then a head; named stages; taps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.errors import InputError, did_you_mean
from medldr.models._adapter import ADAPTERS
from medldr.models._config import ModelConfig as ModelConfig
from medldr.models._corn_head import CornHead as CornHead
from medldr.models._cosine_head import CosineHead as CosineHead
from medldr.models._freeze import before
from medldr.models._slices import Pooling, Slices

STAGES = ("stem", "stage1", "stage2", "stage3", "stage4")

NARROW = 16
"""With fewer channels in a stage, pictures are channels first; see `FeatureModel.memory_format`.

Source:
    Tried with torch 2.14.1 under a checked heap, in float32 and bfloat16: 4 to 15 channels corrupt
    memory from 48 pixels on, 16 and more never do.
"""

ADDED = ("head", "adapter", "slices", "attention")
"""What is ours beside the network itself: it trains also where the network is frozen."""

Tap = Callable[[Tensor], Tensor]
"""Receives a stage's output and returns the input of the next stage."""

Taps = Mapping[str, Tap]
"""Taps by stage name: bound methods or modules made once, to avoid recompilation."""


def scaled(channels: int, width: float) -> int:
    """A number of channels times the width factor, at least one.

    Example:
        >>> scaled(64, 0.125), scaled(64, 0.001)
        (8, 1)
    """
    return max(1, round(channels * width))


class FeatureModel(nn.Module):
    """A network in two halves: `features` makes latents, `classify` makes logits of them.

    Subclasses implement `latents`, in which each of `stages` runs once and passes its output
    through `tap`; what is the same for every network, adapter, dropout and head, is made here.
    Latents and logits are float32 also under autocast.

    Args:
        stage_dims: Channels of each stage's output.
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        config: ``head``, ``cosine_scale``, ``dropout`` and ``adapter``; unset: their defaults.
        spatial_dims: 2 for pictures, 3 for volumes.

    Attributes:
        stages: Names of the stages, in order; a network without a stem of its own has no
            ``stem``, and one with three stages (of CIFAR's kind) no ``stage4``.
        stage_dims: Channels of each stage's output.
        dim: Latent size ``D``.
        num_classes: Number of logits ``K``.
        head: Maps latents to logits.
        adapter: Maps what `latents` makes to the latents that `features` gives; None: it is they.
        dropout: Probability that an entry of a latent is zero while training.
        spatial_dims: 2 for pictures, 3 for volumes.
        maps: Whether stages put out maps ``(B, C, [D,] H, W)``; false for tokens ``(B, T, C)``.
        token_grid: Rows and columns of the patches that tokens of a picture stand for: the last
            ones of each stage, row by row. None: stages put out maps, or tokens whose places are
            not known.
        batch_norm_frozen: Whether batch normalisation keeps its statistics also while training.
        features_frozen: Whether only the head is trained.
        slices: How volumes are seen as sets of pictures; None: images are seen whole.
        frozen_modules: Names of what stays in eval mode also while training.
        views: Images of an item that are seen one by one, ``(B, views * C, [D,] H, W)``, and whose
            latents are averaged; a view of a single value throughout is missing and left out.
        notes: What readers of the run should know about how the network was made.
        stem_weight: Key of the first kernel in the state dict, which follows the input channels.
    """

    stages: tuple[str, ...] = STAGES
    maps: bool = True
    views: int = 1
    token_grid: tuple[int, ...] | None = None
    batch_norm_frozen: bool = False
    features_frozen: bool = False
    frozen_modules: tuple[str, ...] = ()
    stem_weight: ClassVar[str | None] = None

    def __init__(
        self,
        *,
        stage_dims: tuple[int, ...],
        dim: int,
        num_classes: int,
        config: ModelConfig | None = None,
        spatial_dims: int = 2,
    ) -> None:
        super().__init__()
        self.spatial_dims = spatial_dims
        self.notes: list[str] = []
        self.stage_dims = stage_dims
        self.dim = dim
        self.num_classes = num_classes
        config = config or ModelConfig(name=type(self).__name__)
        self.dropout = config.dropout
        self.head: nn.Module
        if config.head == "linear":
            self.head = nn.Linear(dim, num_classes)
        elif config.head == "cosine":
            self.head = CosineHead(dim, num_classes, config.cosine_scale)
        else:
            self.head = CornHead(dim, num_classes)
        make = ADAPTERS.get(config.adapter)
        with torch.random.fork_rng(devices=[]):  # the network's first weights stay what they are
            self.adapter = None if make is None else make(dim)
        self.slices: Slices | None = None

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """The network itself, which every subclass implements: `features` without what follows."""
        raise NotImplementedError

    def features(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents ``(B, D)`` float32 of images ``(B, C, [D,] H, W)``, adapted.

        In training mode each entry is zero with probability ``dropout``, and the others grow by
        ``1 / (1 - dropout)``. The draws are torch's global generator's.

        Args:
            image: The network's input.
            taps: By stage name; each receives its stage's output and returns the next input.

        Source:
            DomainBed: dropout belongs to the network, after pooling, so that every method sees
            latents with gaps, and not only the classifier.
        """
        z = self._of_one(image, taps) if self.views == 1 else self._mean_of_views(image, taps)
        if self.adapter is not None:
            with torch.autocast(z.device.type, enabled=False):
                z = self.adapter(z.to(torch.promote_types(z.dtype, torch.float32)))
        drops = self.training and self.dropout and not self.features_frozen
        return functional.dropout(z, self.dropout) if drops else z

    def _of_one(self, image: Tensor, taps: Taps | None) -> Tensor:
        """Latents of images, those of volumes that are seen slice by slice included."""
        if self.slices is None:
            return self.latents(image, taps)
        each = {k: self.slices.tap(tap, maps=self.maps) for k, tap in (taps or {}).items()}
        z = self.latents(self.slices.pictures(image), each)
        with torch.autocast(z.device.type, enabled=False):
            pooled: Tensor = self.slices(z.to(torch.promote_types(z.dtype, torch.float32)))
        return pooled

    def take_slices(self, pooling: Pooling, depth: int) -> None:
        """See volumes slice by slice from here on; what a tap gets holds all slices of a volume.

        A tap receives maps as ``(B, C, X, Y, Z)`` and tokens as ``(B, Z * T, C)``.

        Args:
            pooling: How the latents of slices become one.
            depth: Slices of each volume.

        Raises:
            InputError: If the network makes features of its own, which know of no slices.
        """
        if type(self).features is not FeatureModel.features:
            raise InputError(
                "model.slices: this network overrides `features` and cannot see volumes slice by "
                "slice. Let it implement `latents`, or leave model.slices out"
            )
        self.slices = Slices(pooling, depth, self.dim)

    def of_items(self, maps: Tensor) -> Tensor:
        """Maps of what the network saw, ``(N, h, w)``, as those of images: ``(B, *s)``."""
        return maps if self.slices is None else self.slices.volume(maps[:, None])[:, 0]

    def take_views(self, views: int) -> None:
        """See so many views of each item from here on; what a tap gets holds all of them.

        A tap receives maps as ``(B, views * C, [D,] H, W)`` and tokens as ``(B, views * T, C)``, so
        that its rows are items.

        Raises:
            InputError: If the network makes features of its own, which know of no views.
        """
        if views > 1 and type(self).features is not FeatureModel.features:
            raise InputError(
                "data.combine: this network overrides `features` and cannot see several views of "
                "an item. Let it implement `latents`, or set data.combine: channels"
            )
        self.views = views
        if self.maps:
            self.stage_dims = tuple(views * dim for dim in self.stage_dims)

    def _mean_of_views(self, image: Tensor, taps: Taps | None) -> Tensor:
        """Latents of items: the mean over the views that are there.

        In place of a missing view the first one that is there passes through the network, with no
        weight in the mean, so that batch statistics are those of images.
        """
        n = self.views
        each = image.reshape(-1, n, image.shape[1] // n, *image.shape[2:])
        values = each.detach().flatten(2)
        there = values.amax(2) > values.amin(2)
        there = there | ~there.any(1, keepdim=True)  # of an item that is blank throughout, all
        number = torch.arange(n, device=image.device)
        taken = torch.where(there, number, there.float().argmax(1, keepdim=True))
        chosen = each.gather(1, taken.view(-1, n, *[1] * (each.ndim - 2)).expand_as(each))
        wrapped = None if taps is None else {k: self._of_items(tap) for k, tap in taps.items()}
        z = self._of_one(chosen.flatten(0, 1), wrapped)
        weight = there.to(z.dtype).unsqueeze(2)
        return (z.reshape(-1, n, z.shape[1]) * weight).sum(1) / weight.sum(1)

    def _of_items(self, tap: Tap) -> Tap:
        """A tap whose rows are items, as one whose rows are views."""

        def of_views(value: Tensor) -> Tensor:
            items = tap(value.reshape(-1, self.views * value.shape[1], *value.shape[2:]))
            return items.reshape(-1, items.shape[1] // self.views, *items.shape[2:])

        return of_views

    @contextmanager
    def attending(self) -> Iterator[list[Tensor]]:
        """Attention that tokens pay to tokens in forward passes meanwhile, block after block.

        Yields:
            A list to which each block adds ``(B * views * slices, heads, queries, tokens)``; it
            stays empty where a network computes none. The last tokens are those of `token_grid`.
        """
        yield []

    def classify(self, z: Tensor) -> Tensor:
        """Logits ``(B, K)`` of latents ``(B, D)``, in float32 also under autocast."""
        with torch.autocast(z.device.type, enabled=False):
            logits: Tensor = self.head(z.to(torch.promote_types(z.dtype, torch.float32)))
        return logits

    def forward(self, image: Tensor) -> Tensor:
        """Logits of images: what prediction and export use."""
        return self.classify(self.features(image))

    def train(self, mode: bool = True) -> FeatureModel:
        """As in torch, except that what is frozen stays in eval mode."""
        super().train(mode)
        if self.features_frozen:
            for part in self.children():
                if part is not self.head:
                    part.eval()
        for name in self.frozen_modules:
            self.get_submodule(name).eval()
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

    def freeze_encoder(self, stages: int | None, image: Tensor) -> None:
        """Keep the network, or its first stages, as they are from here on; adapter and head train.

        Args:
            stages: How many, of `stages`; None: the whole network.
            image: ``(1, C, [D,] H, W)`` of the size that it will see.

        Raises:
            InputError: If it has fewer stages.
        """
        own = {n: p for n, p in self.named_parameters() if n.partition(".")[0] not in ADDED}
        if stages is None:
            early = [name for name, _ in self.named_children() if name not in ADDED]
        elif stages > len(self.stages):
            raise InputError(
                f"model.freeze: {stages} stages, but this network has {len(self.stages)}: "
                f"{', '.join(self.stages)}. Set at most so many, or all"
            )
        else:
            mode = self.training
            early, fixed = before(self.eval(), self._of_one, image, self.stages[stages - 1])
            own = {name: own[name] for name in own.keys() & set(fixed)}
            self.train(mode)
        for parameter in own.values():
            parameter.requires_grad_(False)
        self.frozen_modules = tuple(early)
        self.train(self.training)

    def freeze_features(self) -> None:
        """Keep all but the head as it is, from here on: no gradients, dropout or batch statistics.

        Latents are then the same in training and in evaluation.
        """
        self.features_frozen = True
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.head.requires_grad_(True)
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
            if not self.stages:
                raise InputError(
                    f"{who}: stored latents have no stages, and this method changes those of a "
                    "network. Choose a method that works on latents, such as erm, latentdr, coral "
                    "or manifold_mixup with algorithm.stages=[input]"
                )
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
        narrow = min(self.stage_dims) // self.views < NARROW
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
