"""One training step: the wrapped pair, and the interface that an algorithm's `update` uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from medldr.algorithms.base import Algorithm
from medldr.models.base import FeatureModel
from medldr.training.finite_loss import FiniteLossCheck
from medldr.types import Batch, StepOutput

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class TrainStep(nn.Module):
    """A model and an algorithm as one module, which routes every loss through one `forward`.

    DDP and `torch.compile` wrap this, never the bare model: bypassing DDP's forward would silently
    leave the processes' gradients unequal.

    Args:
        model: The network, whose weights are the result of the training.
        algorithm: The method, whose own weights and buffers are not part of the result.
    """

    def __init__(self, model: FeatureModel, algorithm: Algorithm) -> None:
        super().__init__()
        self.model = model
        self.algorithm = algorithm
        # DDP would broadcast these before every pass.
        self._ddp_params_and_buffers_to_ignore = [f"algorithm.{n}" for n in algorithm.constant()]

    def forward(self, batch: Batch, method: str = "loss") -> StepOutput:
        """Evaluate ``algorithm.<method>(model, batch)``."""
        output: StepOutput = getattr(self.algorithm, method)(self.model, batch)
        return output


class Stepper:
    """What the loop offers to `Algorithm.update`: the `Step` of `medldr.algorithms.base`.

    Args:
        fabric: Owns precision, devices and processes.
        pair: The model and the algorithm; moved to the device, and wrapped as needed.
        optimizers: By the names that `Algorithm.optimizers` gave.
        total: Number of optimizer steps of the whole run.
        clip_norm: Largest norm of an optimizer's gradient; unset: no limit.
        loss_check: Stops the run at a loss that is not finite.
        compile: Compile the pair with `torch.compile`.

    Attributes:
        index: Number of this step, from 0; the loop counts it up.
        total: Number of steps of the whole run.
        share: Factor on every loss sent backward. DDP averages over processes; where these hold
            different numbers of rows, ``rows * processes / all rows`` makes that the mean over all
            rows. medldr's loaders give every process the same number, so it stays 1.
        pair: The unwrapped pair, for its state.
        held: Weights that take no part in the next steps, whatever their gradients.
    """

    def __init__(
        self,
        fabric: Fabric,
        pair: TrainStep,
        optimizers: Mapping[str, Optimizer],
        *,
        total: int,
        clip_norm: float | None = None,
        loss_check: FiniteLossCheck | None = None,
        compile: bool = False,  # noqa: A002  (torch's own word)
    ) -> None:
        self.index = 0
        self.total = total
        self.share = 1.0
        self.pair = pair
        self.held: Sequence[nn.Parameter] = ()
        self._fabric = fabric
        self._clip_norm = clip_norm
        self._loss_check = loss_check or FiniteLossCheck()
        module = cast(nn.Module, torch.compile(pair)) if compile else pair
        wrapped, *wrapped_optimizers = fabric.setup(module, *optimizers.values())
        self._module = wrapped
        self.optimizers: dict[str, Any] = dict(zip(optimizers, wrapped_optimizers, strict=True))

    def forward(self, batch: Batch, method: str = "loss") -> StepOutput:
        """Evaluate ``algorithm.<method>(model, batch)`` through the wrapped pair."""
        output: StepOutput = self._module(batch, method)
        self._loss_check.remember(batch, output)
        return output

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a scalar loss."""
        self._loss_check.watch(loss)
        self._fabric.backward(loss if self.share == 1.0 else loss * self.share)

    def optimizer_step(self, *names: str) -> None:
        """Clip and step these optimizers (by default ``main``), then clear all gradients.

        Raises:
            NonFiniteError: If a loss since the last step was not finite; nothing is changed then.
        """
        self._loss_check.confirm(self.index)
        for weight in self.held:
            weight.grad = None
        for name in names or ("main",):
            optimizer = self.optimizers[name]
            if self._clip_norm is not None:
                self._fabric.clip_gradients(
                    self._module, optimizer, max_norm=self._clip_norm, error_if_nonfinite=False
                )
            optimizer.step()
        self.pair.zero_grad(set_to_none=True)

    def check_weights(self) -> None:
        """Stop the run if any weight or statistic is not finite.

        Raises:
            NonFiniteError: Before anything is written.
        """
        self._loss_check.check_weights(self.pair.state_dict().values(), self.index)

    def reset_optimizer(self, name: str = "main") -> None:
        """Forget this optimizer's running state (momentum)."""
        self.optimizers[name].state.clear()

    def groups(self, name: str = "main") -> list[dict[str, Any]]:
        """Parameter groups of this optimizer, with the rates of this step; do not modify."""
        groups: list[dict[str, Any]] = self.optimizers[name].param_groups
        return groups

    def local(self, enabled: bool = True) -> AbstractContextManager[None]:
        """Within it, gradients accumulate on this process and are not yet averaged over all."""
        context: AbstractContextManager[None] = self._fabric.no_backward_sync(
            self._module, enabled=enabled
        )
        return context

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the model's and the algorithm's floating state."""
        return {name: value.detach().clone() for name, value in self.state().items()}

    @torch.no_grad()
    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Put a snapshot back, in place."""
        for name, value in self.state().items():
            value.copy_(snapshot[name])

    @torch.no_grad()
    def interpolate(self, snapshot: dict[str, Tensor], eps: float) -> None:
        """Set every floating entry to ``snapshot + eps * (current - snapshot)``, in place.

        Exactly the snapshot at 0, and exactly the current state at 1.
        """
        for name, value in self.state().items():
            value.copy_(torch.lerp(snapshot[name], value, eps))

    def state(self) -> dict[str, Tensor]:
        """The model's and the algorithm's floating state itself, by name; no copy."""
        state = self.pair.state_dict(keep_vars=True)
        return {name: value for name, value in state.items() if value.is_floating_point()}
