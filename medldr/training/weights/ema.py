"""The moving average of the weights, and batch statistics for averaged weights.

Where there is a moving average, it is what is validated, selected and saved.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.config.training_options import AveragingConfig
from medldr.models.base import FeatureModel
from medldr.training.machine.processes import Processes
from medldr.types import Batch


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


def live_norms(model: nn.Module) -> list[_BatchNorm]:
    """Batch normalisations whose running statistics change while the model trains.

    Excluded are those without statistics and frozen ones, which stay in eval mode during training.
    The model is left in training mode.
    """
    model.train()
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    return [norm for norm in norms if norm.training and norm.running_mean is not None]


@torch.no_grad()
def reestimate(
    model: nn.Module,
    batches: Iterable[Batch],
    processes: Processes,
    autocast: AbstractContextManager[object] | None = None,
) -> None:
    """Set the statistics of live batch normalisation to their means over some batches.

    The model runs in training mode, dropout included, and draws from the global generators. With
    several processes the statistics are the mean over all of them, and equal on each.

    Args:
        model: Changed in place, and left in eval mode.
        batches: Of this process's training rows; each counts the same.
        processes: Of the run; all call this with equally many batches.
        autocast: The run's precision; unset: the model's own.

    Source:
        The cumulative form of running statistics (momentum None), as weight averaging needs it:
        Izmailov et al. 2018. A mean over the processes is ours.
    """
    norms = live_norms(model)
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # in torch: the mean over all batches so far
    with autocast or contextlib.nullcontext():
        for batch in batches:
            model(batch.image)
    model.eval()
    if processes.world == 1:
        return
    for norm in norms:
        for statistic in (norm.running_mean, norm.running_var):
            if statistic is not None:
                statistic.copy_(processes.sum(statistic) / processes.world)
