"""SWAD: after the training, the mean of all weights in a valley of the validation loss.

During training, a running mean of the weights is kept for each stretch between two validations (a
segment), and written to `checkpoints/swad/` when the stretch ends. Training itself is unaffected:
it continues past the end of the valley, and every other rule chooses as it would without SWAD. At
the end `medldr.training.weights.loss_valley` chooses the segments to average, each once.

The watched loss is the mean over the domains of the validation split of their mean loss
(``val/domain_loss``), or ``val/loss`` where the rows have no domains.

Memory: one more copy of the weights. Disk: one file of weights for each of the last
``n_tolerance`` validations, then one for each validation inside the valley, until the run is done.

Source:
    Cha et al. 2021. All parameters of the network are averaged, and nothing else: not the
    algorithm's own, not the optimizer's. Segments have equal weight, as in the published code, even
    where the last one is shorter. Statistics of batch normalisation are re-estimated unless they
    are frozen; other buffers are the last ones.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import shutil
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from medldr.config.training_options import SWAD, SwadConfig
from medldr.data import TrainLoader
from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.models.base import FeatureModel
from medldr.training.machine.processes import Processes
from medldr.training.state.rng import Randomness, seed_process, undisturbed
from medldr.training.weights.loss_valley import Valley, find_valley, may_be_needed
from medldr.training.weights.running_average import live_norms, reestimate
from medldr.training.weights.selection import watched_loss
from medldr.types import Batch

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass
class ValleyAverage:
    """Keeps the means of the weights between validations, and averages those of the valley.

    Attributes:
        config: The section of the configuration.
        folder: The run folder.
        processes: Of the run; all hold the same means, the first one writes them.
        fabric: Gives device and precision.
        seed: Of the run.
    """

    config: SwadConfig
    folder: RunFolder
    processes: Processes
    fabric: Fabric
    seed: int

    def __post_init__(self) -> None:
        self._mean: dict[str, Tensor] = {}
        self._steps = 0
        self._losses: list[float | None] = []
        self._ends: list[list[int]] = []

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Include the weights after one more step: ``mean + (weights - mean) / steps``."""
        self._steps += 1
        current = floating(model)
        if self._steps == 1:
            self._mean = {name: value.clone() for name, value in current.items()}
        else:
            torch._foreach_lerp_(list(self._mean.values()), list(current.values()), 1 / self._steps)

    def close(self, row: Mapping[str, Any]) -> None:
        """End a segment at a validation: write its mean and keep what was measured.

        Args:
            row: As in `metrics.jsonl`.
        """
        if self.processes.first:
            save_tensors(self._path(len(self._losses)), self._mean)
        loss = watched_loss(row)
        self._losses.append(loss if loss is not None and math.isfinite(loss) else None)
        self._ends.append([int(row["epoch"]), int(row["step"])])
        self._steps = 0

    def tidy(self) -> None:
        """Delete segments that can no longer be averaged.

        Called after the checkpoint: a run killed in between resumes from an older checkpoint, which
        may still need them.
        """
        if not self.processes.first or not self._losses:
            return
        needed = may_be_needed(self._losses, self.config)
        for number in range(len(self._losses)):
            if number not in needed:
                self._path(number).unlink(missing_ok=True)

    def valley(self) -> Valley:
        """The segments to average, by the validations so far."""
        return find_valley(self._losses, self.config)

    def publish(self, model: FeatureModel, loader: TrainLoader, epoch: int) -> dict[str, Any]:
        """Write the average to `selected/swad.safetensors`; every process calls this.

        Where that file exists but a segment does not, the run was already published; it is kept.

        Args:
            model: With its last weights; it is not changed.
            loader: Training batches, for batch normalisation.
            epoch: The first epoch to take batches from.

        Returns:
            Epoch, step and value of the choice.

        Raises:
            InputError: If a segment is missing.
        """
        chosen = self.valley().segments
        target = self.folder.selected(SWAD)
        whole = all(self._path(number).is_file() for number in chosen)
        published, whole = self.processes.from_first([target.is_file(), whole])
        if not whole and not published:
            raise InputError(
                f"cannot average: one of the segments {list(chosen)} in {self._place} is missing. "
                "Restore it, or start over with --restart"
            )
        if whole:
            state = self._averaged(model, loader, epoch)
            if self.processes.first:
                save_tensors(target, state)
        if self.processes.first and self._place.is_dir():
            shutil.rmtree(self._place)
        return self._choice()

    def notes(self) -> list[str]:
        """What readers of the result should know."""
        valley = self.valley()
        starts = [0, *(step for _, step in self._ends)]
        last = starts[max(valley.segments) + 1]
        if valley.lowest is None:
            return [
                "swad: the validation loss never converged, so only the weights after steps "
                f"{starts[-2] + 1} to {last} are averaged"
            ]
        return [
            f"swad averages the weights after steps {starts[min(valley.segments)] + 1} to {last}, "
            f"a valley up to a validation loss of {valley.threshold:.4g}"
        ]

    def expect_segments(self) -> None:
        """Check, before resuming from a checkpoint, that all segments certain to be averaged exist.

        Raises:
            InputError: If one is missing, because no later step recreates it.
        """
        if not self._losses or self.folder.selected(SWAD).is_file():
            return
        valley = self.valley()
        sure = valley.segments if valley.lowest is not None else ()
        for number in sure:
            if not self._path(number).is_file():
                raise InputError(
                    f"cannot resume {self.folder.path}: {self._path(number)} is missing. Restore "
                    "it, or start over with --restart"
                )

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {
            "mean": dict(self._mean) if self._steps else {},
            "steps": self._steps,
            "losses": list(self._losses),
            "ends": [list(end) for end in self._ends],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        device = self.fabric.device
        self._mean = {name: value.to(device) for name, value in state["mean"].items()}
        self._steps = int(state["steps"])
        self._losses = list(state["losses"])
        self._ends = [list(end) for end in state["ends"]]

    @property
    def _place(self) -> Path:
        return self.folder.checkpoints / SWAD

    def _path(self, number: int) -> Path:
        return self._place / f"{number:06d}.safetensors"

    def _choice(self) -> dict[str, Any]:
        valley = self.valley()
        epoch, step = self._ends[max(valley.segments)]
        lowest = len(self._losses) - 1 if valley.lowest is None else valley.lowest
        return {"epoch": epoch, "step": step, "value": self._losses[lowest]}

    def _averaged(self, model: FeatureModel, loader: TrainLoader, epoch: int) -> dict[str, Tensor]:
        """State of the model with the averaged weights, and statistics that fit them."""
        network = copy.deepcopy(model)
        # Files shared between machines may appear late: the first process reads for all.
        mean = self._mean_of_segments() if self.processes.first else None
        mean = self.processes.from_first(mean)
        with torch.no_grad():
            for name, value in floating(network, cast=False).items():
                value.copy_(mean[name])
        if live_norms(network):
            kept = Randomness(self.fabric.device)
            before = kept.state_dict()
            seed_process(self.seed, self.processes.rank)
            with contextlib.closing(_endless(loader, epoch)) as batches:
                some = itertools.islice(batches, self.config.bn_batches)
                reestimate(network, some, self.processes, self.fabric.autocast())
            kept.load_state_dict(before)
        return dict(network.state_dict())

    def _mean_of_segments(self) -> dict[str, Tensor]:
        mean: dict[str, Tensor] = {}
        weight = 0
        for number, times in self.valley().segments.items():
            segment = {k: v.double() for k, v in load_tensors(self._path(number)).items()}
            weight += times
            if not mean:
                mean = segment
            for name, value in mean.items():
                # Equal weights stay unchanged to the last bit.
                value.lerp_(segment[name], times / weight)
        return mean


def floating(model: nn.Module, *, cast: bool = True) -> dict[str, Tensor]:
    """Floating parameters by name, detached, in float32 or better; as they are without a cast."""
    return {
        name: value.detach().to(torch.promote_types(value.dtype, torch.float32))
        if cast
        else value.detach()
        for name, value in model.named_parameters()
        if value.is_floating_point()
    }


def _endless(loader: TrainLoader, epoch: int) -> Generator[Batch, None, None]:
    """An endless stream of training batches from an epoch on."""
    for number in itertools.count(epoch):
        with contextlib.closing(undisturbed(loader.batches(number))) as batches:
            yield from batches
