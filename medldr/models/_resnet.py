"""torchvision's ResNets with named stages, a choice of stem, a width and a 3D form."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from torch import Tensor, nn
from torchvision.models.resnet import ResNet as TorchvisionResNet

from medldr.models._acs import ConvKind, convert
from medldr.models._small_maps import use_here
from medldr.models.base import FeatureModel, ModelConfig, Taps, scaled
from medldr.types import DataSpec


class ResNetConfig(ModelConfig):
    """Keys of the ResNets."""

    stem: Literal["small", "imagenet"] = "small"
    conv: ConvKind = "acs"
    init: Literal["kaiming", "torch"] = Field(
        "kaiming",
        description="first weights of convolutions, where none are loaded: torchvision's Kaiming "
        "normal, or those that torch gives every layer, as in MedMNIST's 28-pixel networks",
    )


class ResNet(FeatureModel):
    """A torchvision ResNet, cut into stages; its 3D form is the converted 2D network.

    Args:
        block: torchvision's `BasicBlock` or `Bottleneck`.
        layers: Blocks in each of the four stages.
        config: ``stem``: ``small`` is 3x3, stride 1, without pooling (28-pixel images keep their
            28 pixels through stage 1); ``imagenet`` is 7x7, stride 2, and max pooling. ``conv``:
            how a 3D network is made, see `medldr.models._acs.convert`; 2D data ignores it.
            ``init``: how convolutions start. ``kaiming``: normal, fan out, as torchvision's
            ResNets; ``torch``: as torch makes a layer, uniform within 1 / sqrt(fan in). Both are
            drawn for the 2D network, before conversion. Norms start at 1 and 0 and the head as
            torch's `Linear` either way.
        spec: Channels, classes and number of axes.

    Source:
        He et al. 2016, with torchvision's first weights. The small stem is that of MedMNIST v2's
        28-pixel networks, which set no first weights and so have torch's (``init`` ``torch``).
        Its 3D networks are made in 2D and converted with their weights: ACS and 2.5D kernels keep
        them, 3D ones are repeated along depth and divided by it (the converter's ``i3d``, the
        script's default), which is what `convert` does. `AcsConv3d` made by itself starts like
        torch's `Conv2d`. With ``small``, ``kaiming`` is our choice.
    """

    stem_weight = "network.conv1.weight"

    def __init__(self, block: Any, layers: list[int], config: ResNetConfig, spec: DataSpec) -> None:
        width = [scaled(n, config.width) for n in (64, 64, 128, 256, 512)]
        dims = (width[0], *(n * block.expansion for n in width[1:]))
        super().__init__(
            stage_dims=dims,
            dim=dims[-1],
            num_classes=spec.num_classes,
            config=config,
            spatial_dims=spec.spatial_dims,
        )
        network: nn.Module = _Network(block, layers, config, spec.channels)
        if spec.spatial_dims == 3:
            network = use_here(convert(network, config.conv))
        elif config.conv != "acs":
            self.notes.append(f"model.conv: {config.conv} has no effect on 2D images")
        self.network = network

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents: the global average of the last stage's output."""
        net: Any = self.network
        x = net.maxpool(net.relu(net.bn1(net.conv1(self.arrange(image)))))
        x = self.tap("stem", x, taps)
        x = self.tap("stage1", net.layer1(x), taps)
        x = self.tap("stage2", net.layer2(x), taps)
        x = self.tap("stage3", net.layer3(x), taps)
        x = self.tap("stage4", net.layer4(x), taps)
        return self.pool(x)

    @staticmethod
    def our_key(key: str) -> str:
        """Names of torchvision's own state dict, translated; ours stay."""
        if key.startswith("fc."):
            return "head." + key.removeprefix("fc.")
        return key if key.startswith(("network.", "head.")) else f"network.{key}"


class _Network(TorchvisionResNet):  # type: ignore[misc]  # torchvision has no type hints
    """torchvision's ResNet with scaled channels, our stem and no head."""

    def __init__(self, block: Any, layers: list[int], config: ResNetConfig, channels: int) -> None:
        self.width = config.width
        super().__init__(block, layers)
        stem = scaled(64, config.width)
        if config.stem == "small":
            self.conv1 = nn.Conv2d(channels, stem, 3, padding=1, bias=False)
            self.maxpool = nn.Identity()
        else:
            self.conv1 = nn.Conv2d(channels, stem, 7, stride=2, padding=3, bias=False)
        nn.init.kaiming_normal_(self.conv1.weight, mode="fan_out", nonlinearity="relu")
        self.bn1 = nn.BatchNorm2d(stem)
        self.avgpool = nn.Identity()
        self.fc = nn.Identity()
        if config.init == "torch":
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    module.reset_parameters()

    def _make_layer(
        self, block: Any, planes: int, blocks: int, stride: int = 1, dilate: bool = False
    ) -> nn.Module:
        if planes == 64:  # the first stage follows the stem, whose channels are scaled too
            self.inplanes = scaled(64, self.width)
        made: nn.Module = super()._make_layer(
            block, scaled(planes, self.width), blocks, stride, dilate
        )
        return made
