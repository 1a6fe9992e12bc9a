"""DenseNet-121 from MONAI, 2D or 3D, with named stages."""

from __future__ import annotations

import re
from typing import Any, Literal

from torch import Tensor, nn

from medldr import offline
from medldr.errors import InputError
from medldr.models._small_maps import use_here
from medldr.models.base import FeatureModel, ModelConfig, Taps, scaled
from medldr.types import DataSpec

TITLE = "DenseNet-121"

BLOCKS = (6, 12, 24, 16)


class Config(ModelConfig):
    """Keys of DenseNet-121."""

    stem: Literal["small", "imagenet"] = "imagenet"


class DenseNet121(FeatureModel):
    """MONAI's DenseNet, cut into stages; 3D is native, with 3D kernels.

    A stage is the transition before a dense block and the block; the last one ends with the
    final norm and ReLU: latents are the average of its output, as in a ResNet.

    Args:
        config: ``stem``: ``imagenet`` is 7x7, stride 2, and max pooling; ``small`` is 3x3,
            stride 1, without pooling, for images under 29 pixels. ``width`` scales the first
            channels (64) and the growth rate (32).
        spec: Channels, classes and size of the images.

    Raises:
        InputError: If the images are too small to be halved as often as the network does.

    Source:
        Huang et al. 2017. The small stem is that of the paper's CIFAR networks.
    """

    stem_weight = "network.conv0.weight"

    def __init__(self, config: Config, spec: DataSpec) -> None:
        _check_size(config.stem, spec.spatial_size)
        first, growth = scaled(64, config.width), scaled(32, config.width)
        nets = offline.load("monai.networks.nets.densenet")
        network = nets.DenseNet(
            spatial_dims=spec.spatial_dims,
            in_channels=spec.channels,
            out_channels=1,
            init_features=first,
            growth_rate=growth,
            block_config=BLOCKS,
        ).features
        dims = [first]
        for count in BLOCKS:  # a transition halves the channels, the block then adds to them
            dims.append((dims[-1] // 2 if len(dims) > 1 else dims[-1]) + count * growth)
        super().__init__(
            stage_dims=tuple(dims),
            dim=dims[-1],
            num_classes=spec.num_classes,
            config=config,
            spatial_dims=spec.spatial_dims,
        )
        if config.stem == "small":
            conv = nn.Conv3d if spec.spatial_dims == 3 else nn.Conv2d
            conv0 = conv(spec.channels, first, 3, padding=1, bias=False)
            nn.init.kaiming_normal_(conv0.weight)
            network.conv0 = conv0
            network.pool0 = nn.Identity()
        self.network: nn.Module = use_here(network)

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents: the global average of the last stage's output."""
        net: Any = self.network
        x = net.pool0(net.relu0(net.norm0(net.conv0(self.arrange(image)))))
        x = self.tap("stem", x, taps)
        x = self.tap("stage1", net.denseblock1(x), taps)
        x = self.tap("stage2", net.denseblock2(net.transition1(x)), taps)
        x = self.tap("stage3", net.denseblock3(net.transition2(x)), taps)
        x = net.norm5(net.denseblock4(net.transition3(x)))
        x = self.tap("stage4", nn.functional.relu(x), taps)
        return self.pool(x)

    @staticmethod
    def our_key(key: str) -> str:
        """Names of MONAI's and torchvision's own state dicts, translated; ours stay.

        torchvision's published files are older than its code and write ``norm.1`` for ``norm1``.
        """
        key = re.sub(r"^(class_layers\.out|classifier)\.", "head.", key)
        key = re.sub(r"^features\.", "network.", key)
        return re.sub(r"(\.denselayer\d+)\.(norm|relu|conv)\.?(\d)", r"\1.layers.\2\3", key)


def build(config: Config, spec: DataSpec) -> DenseNet121:
    """The network for these data, with fresh weights."""
    return DenseNet121(config, spec)


def _check_size(stem: str, size: tuple[int, ...]) -> None:
    smallest = 29 if stem == "imagenet" else 8
    if min(size) < smallest:
        cure = "model.stem: small takes 8 pixels or more" if stem == "imagenet" else "Resize them"
        raise InputError(
            f"model: densenet121 with stem {stem} needs at least {smallest} pixels on each axis, "
            f"but the images have {size}. {cure}, or choose resnet18"
        )


CONTRACT_KEYS = {"stem": "small", "width": 0.125}
