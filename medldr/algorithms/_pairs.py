"""Pairs of source domains, their trial steps, and what the passes of all pairs add up."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import torch
from torch import Tensor, nn

from medldr.algorithms.base import Step


def make_pairs(drawn: list[int], n_meta_test: int | None) -> list[tuple[int, int]]:
    """Which domain takes the trial step, and which one evaluates it.

    Args:
        drawn: Domain numbers in random order.
        n_meta_test: None for a ring; else this many of the first domains evaluate, in turn.

    Example:
        >>> make_pairs([2, 0, 1], None)
        [(2, 0), (0, 1), (1, 2)]
        >>> make_pairs([2, 0, 1, 3, 4], 2)
        [(1, 2), (3, 0), (4, 2)]
    """
    if n_meta_test is None:
        return list(zip(drawn, drawn[1:] + drawn[:1], strict=True))
    return list(zip(drawn[n_meta_test:], cycle(drawn[:n_meta_test])))


def first_step(
    weight: Tensor, gradient: Tensor, group: dict[str, Any], lr: float, *, adam: bool
) -> Tensor:
    """A weight after the first step of a fresh Adam, or of plain SGD; in closed form.

    Args:
        weight: Of any shape.
        gradient: As ``weight``.
        group: A parameter group of the run's optimizer. Its weight decay counts, in AdamW's form
            where that is the run's optimizer, and its ``eps``.
        lr: Rate of the step.
        adam: Else SGD.

    Example:
        >>> weight, gradient = torch.tensor([1.0, 1.0]), torch.tensor([0.5, -4.0])
        >>> first_step(weight, gradient, {"weight_decay": 0.0}, 0.25, adam=True).tolist()
        [0.75, 1.25]
        >>> first_step(weight, gradient, {"weight_decay": 0.5}, 0.25, adam=False).tolist()
        [0.75, 1.875]
    """
    decay = group["weight_decay"]
    if group.get("decoupled_weight_decay", False):
        weight = weight * (1 - lr * decay)
    else:
        gradient = gradient + decay * weight
    if adam:  # both of its averages are, corrected for their start, this one gradient's
        gradient = gradient / (gradient.abs() + group.get("eps", 1e-8))
    return weight - lr * gradient


class PairSums:
    """What the pairs of an update add up: gradients, and how statistics move.

    Args:
        step: Before the first pass.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._trained = [p for group in step.groups() for p in group["params"]]
        self._total: dict[nn.Parameter, Tensor] = {}
        self._state = step.state()
        self._start = step.snapshot()
        self._moves = {
            name: torch.zeros_like(value)
            for name, value in self._state.items()
            if not isinstance(value, nn.Parameter)
        }
        self._first_pass = True

    def add(self, factor: float) -> None:
        """Take in the gradients, which stay; of a pair's first pass also the statistics."""
        for p in self._trained:
            if p.grad is not None:
                part = p.grad * factor
                self._total[p] = self._total[p] + part if p in self._total else part
        if self._first_pass:
            for name, move in self._moves.items():
                move += self._state[name] - self._start[name]
        self._first_pass = False

    def undo(self) -> None:
        """The end of a pair: weights and statistics are again what they were, without gradients."""
        self._step.restore(self._start)
        for p in self._trained:
            p.grad = None
        self._first_pass = True

    def use_gradients(self) -> None:
        """Leave the sums where the optimizer looks for gradients."""
        for p in self._trained:
            p.grad = self._total.get(p)

    def use_statistics(self, pairs: int) -> None:
        """Move the statistics by the mean over pairs; what did not move stays exactly."""
        for name, move in self._moves.items():
            self._state[name].add_(move / pairs)
