"""An outside network: one convolution, dropout, optional normalisation."""

from typing import Literal

import torch
from torch import nn

from medldr.models.base import FeatureModel, ModelConfig


class Config(ModelConfig):
    name: Literal["tiny_lab.model"] = "tiny_lab.model"
    norm: bool = True
    dropout: float = 0.2


class Tiny(FeatureModel):
    def __init__(self, config, spec):
        super().__init__(stage_dims=(6,) * 5, dim=6, num_classes=spec.num_classes, config=config)
        self.conv = nn.Conv2d(spec.channels, 6, 3, padding=1)
        self.norm = nn.BatchNorm2d(6) if config.norm else nn.Identity()

    def latents(self, image, taps=None):
        return torch.relu(self.norm(self.conv(image / 255))).mean((2, 3)).float()


def build(config, spec):
    return Tiny(config, spec)
