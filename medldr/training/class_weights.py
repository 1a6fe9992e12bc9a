"""Class weights as a pure function of the step, so that a resumed run weighs as an unbroken one."""

from __future__ import annotations

from torch import Tensor

from medldr.config.schema import TrainingConfig
from medldr.config.training_options import start_of


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
        self._start = start_of(training.class_weights)
        self._units = training.steps or training.epochs or 1
        self._unit = "steps" if training.steps else "epochs"
        self._first_step = self._start * (1 if training.steps else steps_per_epoch)

    def __call__(self, step: int) -> Tensor | None:
        """Weights at this step, counted from 0; None while nothing is weighed."""
        return self._weights if step >= self._first_step else None

    def notes(self) -> list[str]:
        """A note on weights that would never count."""
        if self._start < self._units or self._weights is None:
            return []
        return [
            f"training.class_weights: they start after {self._start} {self._unit}, but the run "
            f"has {self._units}, so no class is weighed"
        ]
