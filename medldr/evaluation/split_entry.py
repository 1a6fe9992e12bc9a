"""The entry of one split in `evaluation.json`: its numbers, and those of its parts."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from medldr.evaluation import gap, intervals, subgroups
from medldr.evaluation.clinical import class_counts, clinical
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.inference import Scores
from medldr.evaluation.plot_data import pictures
from medldr.evaluation.single_run import number
from medldr.evaluation.split_scores import (
    CLASS_METRICS,
    DOMAIN_METRICS,
    WORST_DOMAIN,
    SplitScores,
)
from medldr.metrics import metric_facts
from medldr.types import Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig


class SplitEntry:
    """One split with its scores, and what is written of them.

    Args:
        scores: The scores of the split.
        split: Its name, which determines its bootstrap draws.
        config: Draws and their seed.
    """

    def __init__(self, scores: SplitScores, split: str, config: EvaluationConfig) -> None:
        self.scores, self.split, self.config = scores, split, config
        self.draws = scores.draws(config.draws, config.bootstrap_seed, split)
        self.noise = intervals.stream(config.bootstrap_seed, split, "noise")

    @property
    def task(self) -> Task:
        """Kind of labels."""
        return self.scores.table.task

    def content(self, seen: Collection[str]) -> dict[str, Any]:
        """Plain values.

        Args:
            seen: Names of the domains that training rows came from.
        """
        scores, table = self.scores, self.scores.table
        names = scores.headline
        return {
            "n": len(table),
            "n_groups": scores.units.count,
            "unit": scores.units.kind,
            "few_groups": scores.units.few,
            "absent_classes": absent_classes(scores),
            "metrics": {name: self.number(name) for name in names},
            "classes": {name: self.of_class(k) for k, name in enumerate(table.class_names)},
            "domains": {name: self.of_domain(name, seen) for name in scores.domains},
            "worst_domain": self.worst(),
            **self.by_part(),
            **self.by_group(),
            **subgroups.content(self),
            **clinical(self),
            **pictures(scores),
        }

    def number(self, name: str) -> dict[str, Any]:
        """A metric with its interval, or why it is undefined; an error with its noise."""
        value, metric = self.scores.values.get(name), metric_facts(name)
        undefined = value is None or np.isnan(value)
        reason = self.scores.reason(name) if undefined else None
        found = number(metric, value, self.draws.get(name), self.scores.sample(name), reason)
        if metric.biased and not undefined:
            found["noise"] = list(self.scores.noise(name, self.config.draws, self.noise))
        return found

    def of_class(self, k: int) -> dict[str, Any]:
        """The numbers of one class or label."""
        numbers = {name: self.number(f"class/{k}/{name}") for name in CLASS_METRICS}
        return {"n": int(np.nansum(self.scores.truth[:, k])), **numbers}

    def of_domain(self, name: str, seen: Collection[str]) -> dict[str, Any]:
        """The numbers of one domain."""
        rows = self.scores.domains[name]
        groups = len(np.unique(self.scores.units.number[rows]))
        return {
            "n": int(rows.sum()),
            "n_groups": groups,
            "few_groups": groups < intervals.FEW_GROUPS,
            "seen": name in seen,
            "class_counts": class_counts(self.scores, rows),
            "metrics": {m: self.number(f"domain/{name}/{m}") for m in DOMAIN_METRICS},
        }

    def worst(self) -> dict[str, Any] | None:
        """The domain with the lowest accuracy; None without domains."""
        values = self.scores.values
        if WORST_DOMAIN not in values:
            return None
        names = {d: f"domain/{d}/accuracy" for d in self.scores.domains}
        known = {d: values[name] for d, name in names.items() if name in values}
        return {"name": min(known, key=lambda d: known[d]), "accuracy": self.number(WORST_DOMAIN)}

    def by_part(self) -> dict[str, Any]:
        """Each part of the held-out domains, evaluated like a split; empty where there is none."""
        names = self.scores.headline
        found = {}
        for name in dict.fromkeys(sorted(self.scores.table.part.tolist())):
            if name:
                entry = SplitEntry(self.scores.of_part(name), f"{self.split}/{name}", self.config)
                metrics = {metric: entry.number(metric) for metric in names}
                found[name] = {"items": len(entry.scores.table), "metrics": metrics}
        return {"parts": found} if found else {}

    def by_group(self) -> dict[str, Any]:
        """Each group and the worst one; empty where groups were not requested."""
        scores, found = self.scores, self.scores.groups
        if not scores.per_group:
            return {}
        if found is None or found.worst is None:
            return {"groups": {} if found is None else found.content(), "worst_group": None}
        worst = {
            "name": found.names[found.worst],
            "n": int(found.items[found.worst]),
            "accuracy": self.number(WORST_GROUP),
        }
        return {"groups": found.content(), "worst_group": worst}

    def minus(self, other: SplitEntry, name: str) -> dict[str, Any]:
        """A metric here minus that of another split."""
        nothing = np.full(1, np.nan)
        seen, unseen = (
            Scores(
                np.array([entry.scores.values.get(name, np.nan)]),
                entry.draws.get(name, nothing)[None],
            )
            for entry in (self, other)
        )
        odd = self if np.isnan(seen.mean) else other
        reason = odd.scores.reason(name) if np.isnan(seen.mean - unseen.mean) else None
        units = (self.scores.units_of(name), other.scores.units_of(name))
        found = gap.difference(name, seen, unseen, units, reason)
        ends = {"low": found.low, "high": found.high, "reason": found.reason or None}
        return {"value": found.mean, **ends}


def absent_classes(scores: SplitScores) -> list[str]:
    """Classes without an item (multi-label: labels without a positive) in the split."""
    occurs = np.nansum(scores.truth, axis=0) > 0
    return [c for c, there in zip(scores.table.class_names, occurs, strict=True) if not there]
