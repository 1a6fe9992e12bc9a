"""Selection rules, by name (each a split, a metric and a direction), and what each has chosen."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from medldr import metrics
from medldr.config.training_options import SWAD
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import RunFolder, checksum
from medldr.folders.run_record import Selection
from medldr.types import Task


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
        self._written: dict[str, str] = {}

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

    def chosen(self) -> dict[str, Selection]:
        """Each rule's choice, by name; the first is the reported one."""
        return {
            rule.name: Selection(
                rule=rule.name, split=rule.split, oracle=rule.oracle, **self._best[rule.name]
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

    def wrote(self, name: str, sha256: str) -> None:
        """Note the checksum of the file that holds a rule's weights."""
        self._written[name] = sha256

    def expect_written(self, folder: RunFolder) -> None:
        """Check, before a run is finished, that its weights are those that were written.

        Not when it is resumed: a killed run may have written later ones, and then writes them anew.

        Raises:
            InputError: Naming the first that are not.
        """
        for name, sha256 in self._written.items():
            if checksum(path := folder.selected(name)) != sha256:
                raise InputError(
                    f"{path} has changed since it was written. Start over with --restart"
                )

    def expect_weights(self, folder: RunFolder) -> None:
        """Check, before resuming from a checkpoint, that the weights chosen until then exist.

        Raises:
            InputError: If they are missing, because later evaluations may not recreate them.
        """
        for name in (rule.name for rule in self.rules if not rule.averaged):
            if name in self._best and not folder.selected(name).is_file():
                raise InputError(
                    f"cannot resume {folder.path}: {folder.selected(name)} is missing. Restore it, "
                    "or start over with --restart"
                )

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint."""
        best = {name: dict(choice) for name, choice in self._best.items()}
        return {"best": best, "waited": self.waited, "written": dict(self._written)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self._best = {name: dict(best) for name, best in state["best"].items()}
        self.waited = int(state["waited"])
        self._written = dict(state["written"])


METRICS: Final = {name: metric for name, metric in metrics.METRICS.items() if metric.selects}
"""Metrics that can select."""

DOMAIN_METRICS: Final = tuple(name for name, metric in METRICS.items() if metric.over_domains)
"""Unweighted means over the domains of a split: ``val_domain_accuracy`` is DomainBed's
"training-domain validation"."""

PREFIXES: Final = ("val", "id_val", "oracle_out", "oracle")
"""What a rule reads: ``val`` is the split that selects (``id_val`` where there is no other),
``oracle`` the test split, ``oracle_out`` the ``target_out`` part of the held-out domains."""

_SPLITS: Final = {"oracle": "test", "oracle_out": "target_out"}


WATCHED: Final = "val/domain_loss"
"""What SWAD watches, where rows have domains; see `watched_loss`."""


@dataclass(frozen=True)
class Rule:
    """A named rule that chooses the weights to keep.

    Attributes:
        name: As in the configuration: ``last``, ``val_auc``, ``id_val_loss``, ``oracle_auc``.
        split: The split it reads, or the part ``target_out``; empty for ``last``.
        column: The metric it compares, as `metrics.jsonl` names it; empty for ``last``.
        larger: Whether a larger value is better.
        oracle: Whether it reads test rows, which makes its result optimistic.
        averaged: Whether its weights are made at the end of training, from those of many steps;
            until then only the step with the lowest loss is known.
    """

    name: str
    split: str = ""
    column: str = ""
    larger: bool = True
    oracle: bool = False
    averaged: bool = False

    def better(self, value: float | None, best: float | None) -> bool:
        """Whether a new value replaces the best so far: strictly better, and finite.

        A finite value beats an undefined one; an undefined one (None, NaN) beats nothing.

        Example:
            >>> rule = Rule("val_auc", "val", "val/auc")
            >>> rule.better(0.7, 0.7), rule.better(0.7, None), rule.better(float("nan"), 0.1)
            (False, True, False)
        """
        if not self.column:
            return True
        if value is None or not math.isfinite(value):
            return False
        if best is None or not math.isfinite(best):
            return True
        return value > best if self.larger else value < best


def scored_splits(rules: Sequence[Rule], splits: Collection[str]) -> dict[str, str]:
    """Splits to score while training, by the prefix of their columns.

    The split used for selection is scored for the curves even if no rule reads it. Other splits
    are scored only for a rule; the test split only for an oracle.

    Example:
        >>> scored_splits([Rule("last")], {"train", "id_val", "test"})
        {'val': 'id_val'}
    """
    selecting = next((split for split in ("val", "id_val") if split in splits), None)
    scored = {"val": selecting} if selecting else {}
    return scored | {rule.column.split("/")[0]: rule.split for rule in rules if rule.column}


def parse_rules(
    names: Sequence[str],
    splits: Collection[str],
    *,
    task: Task | None = None,
    oracle: bool = False,
    averaging: str | None = None,
) -> tuple[Rule, ...]:
    """The rules behind the names of ``training.select``.

    Args:
        names: The first is the reported one.
        splits: Splits that the data has, and parts of held-out domains. ``val_*`` reads ``val``,
            or ``id_val`` without one.
        task: Kind of labels, which a rule's metric must fit; None: any.
        oracle: Whether ``evaluation.oracle`` allows rules that read the test split.
        averaging: Name of ``training.averaging``. With ``swad`` the rule of that name is one of
            the rules, the last where it is not named.

    Raises:
        InputError: If a name is unknown, its split is absent, its metric is not of these labels, an
            oracle is not allowed, or nothing makes the weights of ``swad``.

    Example:
        >>> [rule] = parse_rules(["val_auc"], {"train", "id_val"})
        >>> rule.split, rule.column
        ('id_val', 'val/auc')
    """
    rules = []
    further = (SWAD,) if averaging == SWAD else ()
    for name in dict.fromkeys((*names, *further)):
        if name == "last":
            rules.append(Rule(name))
            continue
        if name == SWAD:
            rules.append(_swad_rule(splits, averaging))
            continue
        prefix = next((p for p in PREFIXES if name.startswith(f"{p}_")), None)
        metric = name.removeprefix(f"{prefix}_")
        if prefix is None or metric not in METRICS:
            rule_names = [f"{one}_{metric}" for one in PREFIXES for metric in METRICS]
            known = ["last", SWAD, *rule_names]
            raise InputError(
                f"training.select: unknown rule {name!r}.{did_you_mean(name, known)} "
                f"Rules: {', '.join(known)}"
            )
        tasks = METRICS[metric].tasks
        if task and tasks and task not in tasks:
            ordered = " (for grades in a table, set data.ordinal: true)"
            raise InputError(
                f"training.select: {name} is of {' or '.join(tasks)} labels, but these are {task}. "
                f"Use a rule such as val_accuracy or val_auc{ordered * ('ordinal' in tasks)}"
            )
        if prefix in _SPLITS and not oracle:
            raise InputError(
                f"training.select: {name} reads the test split, so its result is only an upper "
                "bound. To use it anyway, set evaluation.oracle: true"
            )
        split = _SPLITS.get(prefix, prefix)
        if split == "val" and "val" not in splits:
            split = "id_val"
        if split not in splits:
            raise InputError(
                f"training.select: {name} needs {split!r}, but the data has only "
                f"{', '.join(sorted(splits))}. Use training.select: [last]"
            )
        column = f"{prefix}/{metric}"
        rules.append(
            Rule(name, split, column, METRICS[metric].better == "higher", prefix in _SPLITS)
        )
    return tuple(rules)


def _swad_rule(splits: Collection[str], averaging: str | None) -> Rule:
    if averaging != SWAD:
        raise InputError("training.select: swad needs training.averaging: swad. Set that too")
    split = next((split for split in ("val", "id_val") if split in splits), None)
    if split is None:
        raise InputError(
            "training.averaging: swad needs a split 'val' or 'id_val'. Hold back a part of the "
            "training rows (data.val_fraction), or set training.averaging: null"
        )
    return Rule(SWAD, split, WATCHED, larger=False, averaged=True)


def watched_loss(row: Mapping[str, Any]) -> float | None:
    """What SWAD watches: the mean over domains of their loss, else the loss over all rows.

    Args:
        row: As in `metrics.jsonl`.

    Example:
        >>> watched_loss({"val/loss": 0.5}), watched_loss({"val/loss": 1, "val/domain_loss": 2})
        (0.5, 2)
    """
    value: float | None = row.get(WATCHED, row.get("val/loss"))
    return value
