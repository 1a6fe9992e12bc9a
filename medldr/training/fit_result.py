"""The result of training, for the stages that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medldr.training.weights.selection import Selection


@dataclass(frozen=True)
class FitResult:
    """The result of `fit`; the weights are in the run folder.

    Attributes:
        selections: What each rule chose, by its name; the first is the one that is reported.
        history: The rows of `metrics.jsonl`.
        steps: Optimizer steps made.
        epochs: Passes over the training rows begun.
        stopped_early: Whether early stopping ended the run.
        facts: How it was run, for `run.json`: resolved precision, device, threads, processes,
            compilation, learning rate, rows per step, the sampler, source domains per batch where
            it makes blocks of them, and rows that a set-based method sees at once.
        notes: What readers of any number from this run should know.
    """

    selections: Mapping[str, Selection]
    history: Sequence[Mapping[str, Any]]
    steps: int
    epochs: int
    stopped_early: bool
    facts: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def reported(self) -> Selection:
        """The choice of the first rule."""
        return next(iter(self.selections.values()))
