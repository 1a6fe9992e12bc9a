"""The moving average of the weights during training, which is validated, selected and saved."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor

from medldr.config.training_options import AveragingConfig
from medldr.models.base import FeatureModel


class ExponentialAverage:
    """Exponential moving average of a model's weights.

    After step `t` the average is ``decay * average + (1 - decay) * weights`` for every floating
    parameter, starting from the weights after the first step. Buffers (running statistics of
    normalisation) are copied.

    Args:
        model: The network being trained.
        config: The section of the configuration.

    Attributes:
        model: A network of the same kind that holds the averaged weights.

    Source:
        Polyak and Juditsky 1992, in the exponential form of Tarvainen and Valpola 2017.
    """

    def __init__(self, model: FeatureModel, config: AveragingConfig) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._decay = config.decay
        self._started = False

    @torch.no_grad()
    def update(self, model: FeatureModel) -> None:
        """Include the weights after one more step."""
        averaged: list[Tensor] = [p for p in self.model.parameters() if p.is_floating_point()]
        current: list[Tensor] = [p for p in model.parameters() if p.is_floating_point()]
        if self._started:
            torch._foreach_lerp_(averaged, current, 1 - self._decay)
        else:
            torch._foreach_copy_(averaged, current)
            self._started = True
        for kept, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            kept.copy_(buffer)

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"started": self._started, "model": dict(self.model.state_dict())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self._started = state["started"]
        self.model.load_state_dict(state["model"])
