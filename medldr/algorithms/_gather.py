"""Rows of all processes as one set, with gradients that flow back to where each row was made."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable


def several_processes() -> bool:
    """Whether this process trains together with others."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def mean_over_processes(value: Tensor) -> Tensor:
    """Mean of a detached tensor over all processes, for running statistics kept in buffers.

    Every process must call it at the same point. A buffer updated from its own rows alone would
    differ between processes.
    """
    value = value.detach().clone()
    if several_processes():
        dist.all_reduce(value)
        value /= dist.get_world_size()
    return value


class RowGatherer:
    """The rows of one batch over all processes; they may hold different numbers of them.

    Args:
        rows: Number of rows on this process.
        device: Where the rows are.

    Attributes:
        total: Number of rows of the gathered set.
        own: ``(rows,)`` int64, the positions of this process's rows in it.
    """

    def __init__(self, rows: int, device: torch.device) -> None:
        mine = torch.tensor([rows], device=device)
        sizes = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(sizes, mine)
        self._sizes = [int(size) for size in torch.cat(sizes)]
        self.total = sum(self._sizes)
        start = sum(self._sizes[: dist.get_rank()])
        self.own = torch.arange(start, start + rows, device=device)

    def gather(self, value: Tensor) -> Tensor:
        """All rows of a tensor ``(rows, ...)``, in the order of the processes.

        The gradient that reaches a row is the sum over all processes' losses. DDP then takes the
        mean over processes, which makes it the gradient of the mean of their losses.
        """
        gathered: Tensor = _Gather.apply(value, self._sizes)
        return gathered

    def from_first(self, drawn: Tensor) -> Tensor:
        """This process's rows of what the first process drew for the whole set."""
        plain = drawn.contiguous()
        shared = plain.view(torch.uint8) if plain.dtype == torch.bool else plain
        dist.broadcast(shared, src=0)
        return plain[self.own]


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        padded = value.new_zeros((max(sizes), *value.shape[1:]))
        padded[: len(value)] = value
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        start = sum(ctx.sizes[: dist.get_rank()])
        return total[start : start + ctx.sizes[dist.get_rank()]], None
