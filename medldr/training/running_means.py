"""Running means of what training logs, kept on the device to avoid waiting at each step."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from medldr.algorithms.base import accuracy
from medldr.training.machine.processes import Processes
from medldr.types import Batch, StepOutput


class RunningMeans:
    """Means over the rows of all batches since the last `reset`.

    A term that some batches lack is averaged over those that have it.

    Args:
        device: Where the losses are.
        scored: Whether logits are compared with the true labels. Logits of mixed images are not:
            their accuracy is what the algorithm logs.
    """

    def __init__(self, device: torch.device, *, scored: bool = True) -> None:
        self._device = device
        self._scored = scored
        # float32 loses the small part of long sums; not every device has float64.
        self._kind = torch.float32 if device.type == "mps" else torch.float64
        self._sums: dict[tuple[str, ...], Tensor] = {}

    @torch.no_grad()
    def add(self, batch: Batch, output: StepOutput) -> None:
        """Add one step: each term of its logs, the loss, and the accuracy on true labels."""
        values = {"loss": output.loss}
        if self._scored:
            values["accuracy"] = accuracy(output.logits, batch.label)
        values |= output.logs
        names = tuple(values)
        rows = float(len(batch.index))
        row = torch.stack([v.detach().float() for v in values.values()]).to(self._kind) * rows
        row = torch.cat([row, row.new_full((1,), rows)])
        if names in self._sums:
            self._sums[names] += row
        else:
            self._sums[names] = row

    def reset(self) -> None:
        """Forget everything."""
        self._sums.clear()

    def means(self, processes: Processes | None = None) -> dict[str, float | None]:
        """Mean of each term, over all processes; None where it is not finite."""
        own = [(list(names), sums.cpu()) for names, sums in self._sums.items()]
        shared = [own] if processes is None else processes.gather(own)
        sums: dict[str, float] = {}
        rows: dict[str, float] = {}
        for part in shared:
            for names, values in part:
                *totals, count = values.tolist()
                for name, total in zip(names, totals, strict=True):
                    sums[name] = sums.get(name, 0.0) + total
                    rows[name] = rows.get(name, 0.0) + count
        means = {name: sums[name] / rows[name] for name in sums}
        return {name: mean if math.isfinite(mean) else None for name, mean in means.items()}

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"sums": [[list(names), sums.cpu()] for names, sums in self._sums.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self._sums = {tuple(names): sums.to(self._device) for names, sums in state["sums"]}
