"""What training logs: running means of each term, and the rows of `metrics.jsonl`.

The rows are the source of all curves, one flat record per evaluation. The means since the last one
are kept on the device, so that no step waits for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from medldr.algorithms.base import accuracy
from medldr.folders.files import append_line, write_text
from medldr.training.machine.processes import Processes
from medldr.types import Batch, StepOutput


class History:
    """The rows so far, in memory, in checkpoints and on disk.

    Args:
        path: The file.
        writes: Whether this process writes it.
    """

    def __init__(self, path: Path, *, writes: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._path = path
        self._writes = writes

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; numbers that are not finite become null."""
        plain = {key: _plain(value) for key, value in row.items()}
        self.rows.append(plain)
        if self._writes:
            append_line(self._path, json.dumps(plain, allow_nan=False))

    def rewrite(self) -> None:
        """Make the file hold exactly these rows.

        A run that was killed may have written rows after its last checkpoint; resuming from
        there writes them again, and no row may appear twice.
        """
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in self.rows)
        same = self._path.is_file() and self._path.read_bytes() == text.encode()
        if self._writes and not same:
            write_text(self._path, text)

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"rows": self.rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.rows = [dict(row) for row in state["rows"]]


def _plain(value: Any) -> Any:
    # NumPy's floats subclass Python's, but a checkpoint may hold only the latter.
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


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
