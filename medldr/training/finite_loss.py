"""The rule for a loss that is not finite: the run stops before the optimizer sees it.

On an accelerator the answer is copied to the host while the backward pass is being queued; reading
it before the optimizer's step then does not leave the device idle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.training.machine.processes import Processes
from medldr.types import Batch, StepOutput

MAX_NAMES = 20
"""Maximum number of samples named in the message; the others are counted."""


class NonFiniteError(InputError):
    """A loss or a weight is NaN or infinite; the last good checkpoint is kept."""


@dataclass
class FiniteLossCheck:
    """Watches every loss that is sent backward, and stops the run before a bad step.

    Args:
        name_rows: Turns row numbers into the ids of the samples, for the message.
        processes: All of them stop together; unset: a single process.
    """

    name_rows: Callable[[Sequence[int]], Sequence[str]] | None = None
    processes: Processes | None = None

    def __post_init__(self) -> None:
        self._seen: list[tuple[Tensor, dict[str, Tensor]]] = []
        self._answers: list[tuple[Tensor, torch.cuda.Event | None]] = []

    def remember(self, batch: Batch, output: StepOutput) -> None:
        """Keep what an error message would need: the rows and the terms of a forward pass."""
        self._seen.append((batch.index, output.logs))

    def watch(self, loss: Tensor) -> None:
        """Ask whether a loss is finite, without waiting for the answer."""
        finite = torch.isfinite(loss.detach()).all()
        event = None
        if finite.is_cuda:
            finite = finite.to("cpu", non_blocking=True)
            event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            event.record()
        self._answers.append((finite, event))

    def confirm(self, index: int) -> None:
        """Stop unless every watched loss was finite; then forget them.

        Args:
            index: Number of the step about to be made, from 0.

        Raises:
            NonFiniteError: On every process, if a loss on any of them was not finite.
        """
        finite = True
        for answer, event in self._answers:
            if event is not None:
                event.synchronize()
            finite = bool(answer) and finite
        message = None if finite else self._describe(index)
        if self.processes is not None and self.processes.world > 1:
            (bad,) = self.processes.total(int(not finite))
            if bad:
                message = next(m for m in self.processes.gather(message) if m is not None)
        if message is not None:
            raise NonFiniteError(message)
        self._answers.clear()
        self._seen.clear()

    def check_weights(self, tensors: Iterable[Tensor], index: int) -> None:
        """Stop unless all floating entries are finite, before a bad checkpoint is written.

        Args:
            tensors: The state of the model and the algorithm.
            index: Number of steps made.

        Raises:
            NonFiniteError: On every process, if an entry on any of them is not finite.
        """
        finite = [torch.isfinite(t).all() for t in tensors if t.is_floating_point()]
        bad = int(bool(finite) and not bool(torch.stack(finite).all()))
        if self.processes is not None:
            (bad,) = self.processes.total(bad)
        if bad:
            raise NonFiniteError(
                f"the weights are not finite after step {index}: a gradient overflowed. The last "
                "good checkpoint is kept. Lower training.lr, set training.clip_norm, or "
                "training.precision: float32"
            )

    def _describe(self, index: int) -> str:
        terms = {
            name: float(value)
            for _, logs in self._seen
            for name, value in logs.items()
            if not torch.isfinite(value).all()
        }
        rows = list(dict.fromkeys(n for numbers, _ in self._seen for n in numbers.tolist()))
        names = self.name_rows(rows) if self.name_rows else list(map(str, rows))
        more = f" and {len(rows) - MAX_NAMES} more" if len(rows) > MAX_NAMES else ""
        term = ", ".join(f"{name} = {value}" for name, value in terms.items()) or "loss"
        return (
            f"the loss is not finite at step {index + 1} (term: {term}). Samples of this batch: "
            f"{', '.join(names[:MAX_NAMES])}{more}. The last good checkpoint is kept. Check these "
            "samples, lower training.lr, set training.clip_norm, or training.precision: float32"
        )
