"""What training leaves behind, for the stages after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medldr.training.weights.selection import Selection


@dataclass(frozen=True)
class Fitted:
    """The result of `fit`; the weights are in the run folder.

    Attributes:
        selections: What each rule chose, by its name; the first is the one that is reported.
        history: The rows of `metrics.jsonl`.
        steps: Optimizer steps made.
        epochs: Passes over the training rows begun.
        stopped_early: Whether early stopping ended the run.
        facts: How it was run, for `run.json`: resolved precision, device, threads, processes,
            compilation, rate used, rows per step, the sampler, source domains per batch where it
            makes blocks of them, and rows that a set-based method sees at once.
        notes: What a reader of any number from this run must be told.
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
