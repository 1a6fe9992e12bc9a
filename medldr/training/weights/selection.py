"""The weights that a run keeps: what each rule has chosen so far."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.training.weights.selection_rules import Rule, watched_loss


@dataclass(frozen=True)
class Selection:
    """What a rule chose.

    Attributes:
        rule: Its name.
        split: The split it read; empty for ``last``.
        epoch: Epoch of the choice, from 1.
        step: Optimizer steps made until then.
        value: The metric's value; None where it was undefined throughout, and for ``last``.
        oracle: Whether the test split was read.
        path: The weights.
    """

    rule: str
    split: str
    epoch: int
    step: int
    value: float | None
    oracle: bool
    path: Path

    def as_dict(self) -> dict[str, Any]:
        """The choice without its path, as `evaluation.json` holds it."""
        return {key: value for key, value in vars(self).items() if key != "path"}


class Selector:
    """Keeps each rule's best evaluation, and counts how long the first has not improved.

    Args:
        rules: The first is the reported one.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._best: dict[str, dict[str, Any]] = {}
        self.waited = 0
        """Evaluations since the first rule improved."""

    def offer(self, row: Mapping[str, Any]) -> list[Rule]:
        """Take in an evaluation.

        Args:
            row: ``epoch``, ``step`` and metrics with keys such as ``val/auc``.

        Returns:
            The rules for which it is the best so far. The first evaluation always is, which
            provides weights even where a metric is never defined.
        """
        improved = []
        for rule in self.rules:
            value = watched_loss(row) if rule.averaged else row.get(rule.column)
            best = self._best.get(rule.name)
            if best is None or rule.better(value, best["value"]):
                finite = value is not None and math.isfinite(value)
                self._best[rule.name] = {
                    "epoch": int(row["epoch"]),
                    "step": int(row["step"]),
                    "value": float(value) if value is not None and finite else None,
                }
                improved.append(rule)
        self.waited = 0 if self.rules[0] in improved else self.waited + 1
        return improved

    def settle(self, name: str, choice: Mapping[str, Any]) -> None:
        """Enter the choice of a rule whose weights are averaged.

        Args:
            name: The rule.
            choice: Epoch and step of the last weights in it, and the value.
        """
        self._best[name] = dict(choice)

    def chosen(self, paths: Mapping[str, Path]) -> dict[str, Selection]:
        """Each rule's choice, by name; the first is the reported one."""
        return {
            rule.name: Selection(
                rule=rule.name,
                split=rule.split,
                oracle=rule.oracle,
                path=paths[rule.name],
                **self._best[rule.name],
            )
            for rule in self.rules
        }

    def notes(self) -> list[str]:
        """What readers of the choices should know."""
        return [
            f"{rule.name} was undefined at every evaluation; the weights of the first were kept"
            for rule in self.rules
            if rule.column and not rule.averaged and self._best[rule.name]["value"] is None
        ]

    def expect_weights(self, folder: RunFolder) -> None:
        """Check, before resuming from a checkpoint, that the weights chosen until then exist.

        Raises:
            InputError: If they are missing, because later evaluations may not recreate them.
        """
        for name in (rule.name for rule in self.rules if not rule.averaged):
            if name in self._best and not folder.selected(name).is_file():
                raise InputError(
                    f"cannot resume {folder.path}: {folder.selected(name)} is missing, which held "
                    f"the weights that {name} chose. Restore it, or start over with --restart"
                )

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        return {"best": {k: dict(v) for k, v in self._best.items()}, "waited": self.waited}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self._best = {name: dict(best) for name, best in state["best"].items()}
        self.waited = int(state["waited"])
