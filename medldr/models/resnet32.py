"""ResNet-32 for pictures of 32 pixels: the network of the long-tail tables on CIFAR, 2D only."""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn
from torch.nn import functional
from torchvision.models.resnet import BasicBlock

from medldr.models.base import FeatureModel, ModelConfig, Taps, scaled
from medldr.types import DataSpec

TITLE = "ResNet-32"

SPATIAL_DIMS = (2,)

BLOCKS = 5


class Config(ModelConfig):
    """Keys of ResNet-32."""

    name: Literal["resnet32"] = "resnet32"


class ResNet32(FeatureModel):
    """A 3x3 convolution and three stages of five basic blocks, 16, 32 and 64 channels wide.

    Stages are called ``stem``, ``stage1``, ``stage2`` and ``stage3``; there is no ``stage4``, and a
    method that is told to use it refuses. Of 32 pixels the last stage sees 8. Shortcuts have no
    parameters; see `OptionA`.

    Args:
        config: ``width`` scales the channels.
        spec: Channels and classes.

    Source:
        He et al. 2016, section 4.2, with n = 5 (31 convolutions and the classifier), in the form of
        the long-tail codes from Cao et al. 2019 (LDAM) on: option A, and Kaiming normal weights
        (fan in) for convolutions and the linear head, whose bias starts as torch's. 463,504
        parameters without the head. Block and names of layers are torchvision's.

    Example:
        >>> spec = DataSpec("multi-class", tuple("abc"), (1, 1, 1), 3, (32, 32))
        >>> model = build(Config(), spec)
        >>> model.dim, model.stages
        (64, ('stem', 'stage1', 'stage2', 'stage3'))
    """

    stages = ("stem", "stage1", "stage2", "stage3")
    stem_weight = "conv1.weight"

    def __init__(self, config: Config, spec: DataSpec) -> None:
        first, second, third = (scaled(n, config.width) for n in (16, 32, 64))
        super().__init__(
            stage_dims=(first, first, second, third),
            dim=third,
            num_classes=spec.num_classes,
            config=config,
        )
        self.conv1 = nn.Conv2d(spec.channels, first, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.layer1 = _stage(first, first, stride=1)
        self.layer2 = _stage(first, second, stride=2)
        self.layer3 = _stage(second, third, stride=2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)

    def latents(self, image: Tensor, taps: Taps | None = None) -> Tensor:
        """Latents: the global average of the last stage's output."""
        x = functional.relu(self.bn1(self.conv1(self.arrange(image))))
        x = self.tap("stem", x, taps)
        x = self.tap("stage1", self.layer1(x), taps)
        x = self.tap("stage2", self.layer2(x), taps)
        x = self.tap("stage3", self.layer3(x), taps)
        return self.pool(x)

    @staticmethod
    def our_key(key: str) -> str:
        """The head's name in LDAM's code, translated; the other names are the same."""
        return "head." + key.removeprefix("linear.") if key.startswith("linear.") else key


class OptionA(nn.Module):
    """The shortcut without parameters: every second row and column, and channels of zeros around.

    New channels are shared out equally before and after the old ones, an odd one after.

    Shape:
        - Input ``(B, C, H, W)``, output ``(B, C', ceil(H / 2), ceil(W / 2))``.

    Source:
        He et al. 2016, option A, whose paper does not say where the zeros go; here they are at
        both ends, as in LDAM's code.

    Example:
        >>> import torch
        >>> OptionA(2, 4)(torch.ones(1, 2, 3, 3))[0, :, 0, 0].tolist()
        [0.0, 1.0, 1.0, 0.0]
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.before = (outputs - inputs) // 2
        self.after = outputs - inputs - self.before

    def forward(self, x: Tensor) -> Tensor:
        """Return the smaller map with its channels of zeros."""
        return functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.before, self.after))


def _stage(inputs: int, outputs: int, *, stride: int) -> nn.Sequential:
    shortcut = OptionA(inputs, outputs) if stride == 2 else None
    first = BasicBlock(inputs, outputs, stride, shortcut)
    return nn.Sequential(first, *(BasicBlock(outputs, outputs) for _ in range(BLOCKS - 1)))


def build(config: Config, spec: DataSpec) -> ResNet32:
    """The network for these data, with fresh weights."""
    return ResNet32(config, spec)


CONTRACT_KEYS = {"width": 0.125}
