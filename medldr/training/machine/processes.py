"""Decisions that the processes of a run take together.

Each process trains on its own rows; DDP averages their gradients. All of them must decide at the
same step whether to stop, save or continue, or the others would wait forever. These few integers
travel over gloo, on the CPU, without waiting for an accelerator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Processes:
    """The processes of a run; with one process every method returns at once.

    Attributes:
        rank: Number of this process, from 0.
        world: Number of processes.
        device: Where this process trains.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.rank = fabric.global_rank
        self.world = fabric.world_size
        self.device = fabric.device
        self._control: Any = dist.new_group(backend="gloo") if self.world > 1 else None

    @property
    def first(self) -> bool:
        """Whether this process owns the run folder and writes to it."""
        return self.rank == 0

    def total(self, *numbers: int) -> list[int]:
        """Sum of each integer over all processes."""
        return self._reduced(numbers, dist.ReduceOp.SUM)

    def largest(self, *numbers: int) -> list[int]:
        """Maximum of each integer over all processes."""
        return self._reduced(numbers, dist.ReduceOp.MAX)

    def _reduced(self, numbers: tuple[int, ...], operation: Any) -> list[int]:
        if self.world == 1:
            return list(numbers)
        shared = torch.tensor(numbers, dtype=torch.int64)
        dist.all_reduce(shared, op=operation, group=self._control)
        return [int(n) for n in shared]

    def sum(self, tensor: Tensor) -> Tensor:
        """Sum of a tensor over all processes, in a new tensor."""
        if self.world == 1:
            return tensor
        shared = tensor.detach().cpu().clone()
        dist.all_reduce(shared, group=self._control)
        return shared.to(tensor.device)

    def gather(self, value: Any) -> list[Any]:
        """The value of every process, by rank, on every process."""
        if self.world == 1:
            return [value]
        values: list[Any] = [None] * self.world
        dist.all_gather_object(values, value, group=self._control)
        return values

    def from_first(self, value: Any) -> Any:
        """The first process's value, on every process."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self._control)
        return box[0]

    def wait(self) -> None:
        """Continue once every process has reached this point."""
        if self.world > 1:
            dist.barrier(group=self._control)

    def equal_buffers(self, module: nn.Module) -> None:
        """Give every process the first one's buffers, as DDP does before each forward pass."""
        if self.world == 1:
            return
        for buffer in module.buffers():
            shared = buffer.detach().cpu()
            dist.broadcast(shared, src=0, group=self._control)
            buffer.copy_(shared)
