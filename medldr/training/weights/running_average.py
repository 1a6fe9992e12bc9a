"""Averages of the weights that follow the training, and batch statistics for averaged weights.

Where there is such an average, it is what is validated, selected and saved.
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

from medldr.config.training_options import AveragingConfig, MeanConfig
from medldr.models.base import FeatureModel
from medldr.training.machine.processes import Processes
from medldr.types import Batch


class RunningAverage:
    """Average of a model's weights over the steps so far: exponential, or their mean.

    After step `t` the average is ``average + share * (weights - average)`` for every floating
    parameter. The exponential one (``ema``) has ``share = 1 - decay``, from the weights after the
    first step on; it copies buffers (running statistics of normalisation). The ``mean`` has
    ``share = 1 / (t - start + 1)``, which makes it that of the weights after the steps from
    ``start`` on, each counted once; until then it is the current weights. Floating buffers are
    averaged with the weights.

    Args:
        model: The network being trained.
        config: The section of the configuration.

    Attributes:
        model: A network of the same kind that holds the averaged weights.

    Source:
        Polyak and Juditsky 1992; the exponential form is that of Tarvainen and Valpola 2017. The
        mean with averaged statistics is ERM++ (Teterwak et al. 2025), whose ``sma_start_iter: 600``
        is ``start: 599`` here: its mean begins with the weights of the step before. With live
        normalisation its code then moves the averaged statistics further, by a pass of every batch
        through the averaged network; here they are the mean alone.
    """

    def __init__(self, model: FeatureModel, config: AveragingConfig | MeanConfig) -> None:
        self.model = copy.deepcopy(model).requires_grad_(False)
        self._config = config

    @torch.no_grad()
    def update(self, model: FeatureModel, step: int) -> None:
        """Include the weights after one more step.

        Args:
            model: The network being trained.
            step: The number of that step, from 1.
        """
        pairs = zip(self._averaged(self.model), self._averaged(model), strict=True)
        averaged, current = zip(*pairs, strict=True)
        # A share of 1 gives the current weights to the last bit.
        torch._foreach_lerp_(averaged, current, self._share(step))
        alone = {id(value) for value in averaged}
        for kept, buffer in zip(self.model.buffers(), model.buffers(), strict=True):
            if id(kept) not in alone:
                kept.copy_(buffer)

    def _averaged(self, model: FeatureModel) -> list[Tensor]:
        values = list[Tensor](model.parameters())
        if isinstance(self._config, MeanConfig):
            values += model.buffers()
        return [value for value in values if value.is_floating_point()]

    def _share(self, step: int) -> float:
        if isinstance(self._config, MeanConfig):
            return 1 / max(1, step - self._config.start + 1)
        return 1.0 if step == 1 else 1 - self._config.decay

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"model": dict(self.model.state_dict())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
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
