"""The result of training, for the stages that follow it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from medldr.folders.run_record import Selection


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

    def followed_by(self, name: str, after: FitResult) -> FitResult:
        """The result of this training and of a stage after it, whose choices count.

        Args:
            name: The stage.
            after: Its result; its history holds that of this training.
        """
        stage = {
            "name": name,
            "steps": after.steps,
            "epochs": after.epochs,
            "began_from": self.reported.written(),
            **{key: after.facts[key] for key in ("lr", "batch_size", "sampler") if after.facts},
        }
        return FitResult(
            selections=after.selections,
            history=after.history,
            steps=self.steps + after.steps,
            epochs=self.epochs + after.epochs,
            stopped_early=self.stopped_early,
            facts={**self.facts, "stages": [*self.facts.get("stages", ()), stage]},
            notes=tuple(dict.fromkeys((*self.notes, *after.notes))),
        )


class Before(NamedTuple):
    """What came before a stage, so that its evaluations are counted on.

    Attributes:
        stage: Number of the stage that follows, from 1; 0 where the run has only one.
        rows: Evaluations so far.
        steps: Optimizer steps so far.
        epochs: Epochs so far.
        seconds: Time so far.
    """

    stage: int = 0
    rows: Sequence[Mapping[str, Any]] = ()
    steps: int = 0
    epochs: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, fitted: FitResult, stage: int) -> Before:
        """What a stage leaves to the next one, whose number is given."""
        rows = fitted.history
        seconds = rows[-1]["time_s"] if rows else 0.0
        return cls(stage, rows, fitted.steps, fitted.epochs, seconds)


NOTHING = Before()
"""Before the training of a run without stages."""
