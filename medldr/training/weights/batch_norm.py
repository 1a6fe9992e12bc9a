"""Statistics of batch normalisation for weights that no training step has seen."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from contextlib import AbstractContextManager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.training.machine.processes import Processes
from medldr.types import Batch


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
