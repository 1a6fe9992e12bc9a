"""ResNet-18, 2D or (converted) 3D; see `medldr.models._resnet.ResNet`."""

from torchvision.models.resnet import BasicBlock

from medldr.models._resnet import ResNet, ResNetConfig
from medldr.types import DataSpec

TITLE = "ResNet-18"

Config = ResNetConfig


def build(config: ResNetConfig, spec: DataSpec) -> ResNet:
    """The network for these data, with fresh weights."""
    return ResNet(BasicBlock, [2, 2, 2, 2], config, spec)


CONTRACT_KEYS = {"stem": "small", "width": 0.125}
