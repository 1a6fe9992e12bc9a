"""Optimizers, and learning rate and class weights as pure functions of the step.

What depends only on the step number has no state, so a resumed run follows exactly the
same curve as an uninterrupted one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from medldr.config.schema import TrainingConfig
from medldr.config.training_options import start_of
from medldr.errors import InputError


class Schedule:
    """Factor on every learning rate, for each step of a run.

    The unit is the epoch, or the step where ``training.steps`` is set: that is what milestones,
    warm-up and the cosine's length count. Within one unit the factor stays the same.

    With `u` units done, `w` units of warm-up and `n` units in all, the factor is

    * ``f + (1 - f) u / (w - 1)`` while ``u < w``, with ``f`` = ``warmup_from``, unset ``1 / w``:
      ``(u + 1) / w``; a warm-up of a single unit is at ``f``;
    * then 1 (constant), or ``gamma ** (milestones passed)`` (multistep);
    * or ``(1 + cos(pi (u - t) / (e - t))) / 2`` (cosine), which is 1 at ``u = t`` and 0 at
      ``u = e``. ``cosine_top``: ``t`` is `w` (``first``) or `w` - 1 (``one_before``);
      ``cosine_zero``: ``e`` is `n` (``one_after``) or `n` - 1 (``last``).

    Args:
        training: The section of the configuration.
        steps_per_epoch: Optimizer steps in one pass over the training rows.

    Source:
        torch's ``LinearLR``, ``MultiStepLR`` and ``CosineAnnealingLR`` with ``eta_min`` 0; the
        cosine spans what the warm-up leaves (our choice). Balanced softmax's code: warm-up from
        0.5, ``one_before``, ``last``; that of balanced contrastive learning: ``one_before``,
        ``one_after``; LDAM's: the usual warm-up, milestones 160 and 180, ``gamma`` 0.01.

    Example:
        >>> from medldr.config.schema import TrainingConfig
        >>> training = TrainingConfig(epochs=4, schedule="multistep", milestones=(1, 3))
        >>> [round(Schedule(training, 2)(step), 3) for step in range(8)]
        [1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01]
    """

    def __init__(self, training: TrainingConfig, steps_per_epoch: int) -> None:
        self._training = training
        self._steps_per_unit = 1 if training.steps else steps_per_epoch
        self._units = training.steps or training.epochs or 1
        self._milestones = sorted(training.milestones)
        if training.warmup >= self._units:
            raise InputError(
                f"training.warmup: {training.warmup} takes up the whole run of {self._units} "
                "epochs or steps. Use a smaller training.warmup"
            )
        if training.schedule == "cosine" and self._units == 1 and self(0) == 0:
            raise InputError(
                "training.cosine_zero: last makes the rate of a run of a single epoch or step 0. "
                "Train longer, or set training.cosine_zero: one_after"
            )

    def __call__(self, step: int) -> float:
        """Factor at this step, counted from 0."""
        training = self._training
        unit = step // self._steps_per_unit
        if unit < training.warmup:
            return self._warmup(unit)
        if training.schedule == "multistep":
            return float(training.gamma ** bisect_right(self._milestones, unit))
        if training.schedule == "cosine":
            return self._cosine(unit)
        return 1.0

    def _warmup(self, unit: int) -> float:
        first, length = self._training.warmup_from, self._training.warmup
        if first is None:
            return (unit + 1) / length
        return first + (1 - first) * unit / max(length - 1, 1)

    def _cosine(self, unit: int) -> float:
        training = self._training
        top = training.warmup - (training.cosine_top == "one_before")
        zero = self._units - (training.cosine_zero == "last")
        # A unit that is the first and the last at once is at the top.
        done = (unit - top) / max(zero - top, 1)
        return (1 + math.cos(math.pi * done)) / 2


def build_optimizers(
    groups: Mapping[str, list[dict[str, Any]]],
    training: TrainingConfig,
    *,
    lr_scale: float = 1.0,
    fused: bool = True,
) -> dict[str, Optimizer]:
    """One optimizer per name, of the configured kind unless its groups name another.

    Args:
        groups: What `Algorithm.optimizers` returned. A group may hold its own ``lr``,
            ``weight_decay`` or other options; its ``lr`` is used as it is, under the schedule.
            Its ``lr_scale`` is a further factor on its rate. ``optimizer``, the same in all groups
            of a name, is their kind; ``scheduled: False`` keeps a group's rate as it is.
        training: The section of the configuration.
        lr_scale: The algorithm's factor on ``training.lr``.
        fused: Update all weights in one kernel; equal arithmetic for every parameter.

    Raises:
        InputError: If an optimizer would have nothing to train.
    """
    optimizers: dict[str, Optimizer] = {}
    for name, given in groups.items():
        filled = [
            group | {"params": params} for group in given if (params := list(group["params"]))
        ]
        if not filled:
            raise InputError(
                f"the algorithm's optimizer {name!r} has no trainable parameters. Set "
                "model.adapter: mlp, which is trained between encoder and head, or train stages of "
                "the network (model.freeze)"
            )
        (kind,) = {group.pop("optimizer", training.optimizer) for group in filled}
        make, options = _kind(kind, training)
        options |= {"lr": training.lr * lr_scale, "fused": fused}
        for group in filled:
            group["lr"] = group.get("lr", options["lr"]) * group.pop("lr_scale", 1.0)
        optimizer: Optimizer = make(filled, **options)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        optimizers[name] = optimizer
    return optimizers


def _kind(name: str, training: TrainingConfig) -> tuple[Any, dict[str, Any]]:
    """The class of an optimizer, and its options in the configuration."""
    options: dict[str, Any] = {"weight_decay": training.weight_decay}
    if name == "sgd":
        own = {"momentum": training.momentum, "nesterov": training.nesterov}
        return torch.optim.SGD, options | own
    make = torch.optim.Adam if name == "adam" else torch.optim.AdamW
    return make, options | {"betas": tuple(training.betas), "eps": training.eps}


def set_lr(optimizers: Mapping[str, Any], factor: float) -> float:
    """Set the rate of every group that follows the schedule to its first rate times the factor.

    Returns:
        The rate of the first group of the first optimizer, which is the one logged.
    """
    for optimizer in optimizers.values():
        for group in optimizer.param_groups:
            if group.get("scheduled", True):
                group["lr"] = group["initial_lr"] * factor
    first = next(iter(optimizers.values()))
    return float(first.param_groups[0]["lr"])


class WeightsInTime:
    """The class weights that count at each step of a run.

    The unit is that of `medldr.training.optim.Schedule`: the epoch, or the step where
    ``training.steps`` is set. Up to ``training.class_weights.start`` units nothing is weighed, from
    then on everything.

    Args:
        weights: ``(K,)`` on the device of the run; None where the run weighs nothing.
        training: The section of the configuration.
        steps_per_epoch: Optimizer steps in one pass over the training rows.

    Source:
        The deferred re-weighting (DRW) of Cao et al., "Learning imbalanced datasets with
        label-distribution-aware margin loss", 2019: after 160 of 200 epochs.

    Example:
        >>> import torch
        >>> asked = {"kind": "effective_number", "start": 2}
        >>> training = TrainingConfig(epochs=4, class_weights=asked)
        >>> at = WeightsInTime(torch.ones(3), training, steps_per_epoch=5)
        >>> at(9), at(10)
        (None, tensor([1., 1., 1.]))
    """

    def __init__(
        self, weights: Tensor | None, training: TrainingConfig, steps_per_epoch: int
    ) -> None:
        self._weights = weights
        start = start_of(training.class_weights)
        self._first_step = start * (1 if training.steps else steps_per_epoch)

    def __call__(self, step: int) -> Tensor | None:
        """Weights at this step, counted from 0; None while nothing is weighed."""
        return self._weights if step >= self._first_step else None
