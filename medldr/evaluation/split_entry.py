"""The entry of one split in `evaluation.json`: its numbers, and those of its parts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation import gap
from medldr.evaluation.curves import calibration_of_classes, class_counts, confusion, curves
from medldr.evaluation.groups import WORST_GROUP
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.inference import Scores
from medldr.evaluation.intervals.single_run import number
from medldr.evaluation.metrics import operating_point
from medldr.evaluation.metrics.selective import COVERAGES
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.split_scores import (
    CLASS_METRICS,
    DOMAIN_METRICS,
    LABEL_METRICS,
    WORST_DOMAIN,
    SplitScores,
)
from medldr.evaluation.subgroups import FEWEST, OTHER, metrics_of
from medldr.metrics import metric_facts

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig


class SplitEntry:
    """One split with its scores, and what is written of them.

    Args:
        scores: The scores of the split.
        split: Its name, which determines its bootstrap draws.
        config: Draws and their seed; None for values alone, without intervals, which is what
            `medldr.evaluation.agreement` computes again.
    """

    def __init__(self, scores: SplitScores, split: str, config: EvaluationConfig | None) -> None:
        self.scores, self.split, self.config = scores, split, config
        self.draws: Mapping[str, Array] = {}
        if config is not None:
            self.draws = scores.draws(config.draws, config.bootstrap_seed, split)
            self.noise = bootstrap.stream(config.bootstrap_seed, split, "noise")

    def content(self, seen: Collection[str] = ()) -> dict[str, Any]:
        """Plain values, in the order of the file.

        Args:
            seen: Names of the domains that training rows came from.
        """
        scores, names = self.scores, self.scores.table.class_names
        of_class = CLASS_METRICS + (LABEL_METRICS if scores.labels else ())
        entry = {
            "n": len(scores.table),
            "n_groups": scores.units.count,
            "unit": scores.units.kind,
            "few_groups": scores.units.few,
            "absent_classes": absent_classes(scores),
            "metrics": self.numbers(scores.headline),
            "classes": {
                name: {
                    "n": int(np.nansum(scores.truth[:, k])),
                    **self.numbers(of_class, f"class/{k}/"),
                }
                for k, name in enumerate(names)
            },
            "domains": {name: self._domain(name, seen) for name in scores.domains},
            "worst_domain": self._worst_domain(),
            **self._parts(),
            **self._groups(),
        }
        if self.config is None:
            return {**entry, **self._decided(), "confusion": confusion(scores)}
        return {
            **entry,
            **self._subgroups(),
            "class_counts": class_counts(scores),
            **({} if scores.why_not() else calibration_of_classes(scores)),
            **self._decided(),
            "confusion": confusion(scores),
            **curves(scores),
        }

    def number(self, name: str) -> dict[str, Any]:
        """A metric with its interval, or why it is undefined; an error with its noise."""
        value, metric = self.scores.values.get(name, np.nan), metric_facts(name)
        undefined = bool(np.isnan(value))
        if self.config is None:
            return {"value": None if undefined else value}
        reason = self.scores.reason(name) if undefined else None
        written = number(metric, value, self.draws.get(name), self.scores.sample(name), reason)
        if metric.biased and not undefined:
            written["noise"] = list(self.scores.noise(name, self.config.draws, self.noise))
        return written

    def numbers(self, metrics: Iterable[str], prefix: str = "") -> dict[str, dict[str, Any]]:
        """Several metrics of one place, which the prefix names as `SplitScores` does."""
        return {metric: self.number(prefix + metric) for metric in metrics}

    def _domain(self, name: str, seen: Collection[str]) -> dict[str, Any]:
        rows = self.scores.domains[name]
        items, groups = self.scores.size(rows)
        return {
            "n": items,
            "n_groups": groups,
            "few_groups": groups < bootstrap.FEW_GROUPS,
            "seen": name in seen,
            "class_counts": {} if self.config is None else class_counts(self.scores, rows),
            "metrics": self.numbers(DOMAIN_METRICS, f"domain/{name}/"),
        }

    def _worst_domain(self) -> dict[str, Any] | None:
        """The domain with the lowest accuracy; None without domains."""
        values = self.scores.values
        if WORST_DOMAIN not in values:
            return None
        names = {d: f"domain/{d}/accuracy" for d in self.scores.domains}
        accuracies = {d: values[name] for d, name in names.items() if name in values}
        worst = min(accuracies, key=accuracies.__getitem__)
        return {"name": worst, "accuracy": self.number(WORST_DOMAIN)}

    def _parts(self) -> dict[str, Any]:
        """Each part of the held-out domains, evaluated like a split; empty where there is none."""
        parts = {}
        for name in dict.fromkeys(sorted(self.scores.table.part.tolist())):
            if name:
                entry = SplitEntry(self.scores.of_part(name), f"{self.split}/{name}", self.config)
                metrics = entry.numbers(self.scores.headline)
                parts[name] = {"items": len(entry.scores.table), "metrics": metrics}
        return {"parts": parts} if parts else {}

    def _groups(self) -> dict[str, Any]:
        """Each group and the worst one; empty where groups were not requested."""
        groups = self.scores.groups
        if not self.scores.per_group:
            return {}
        if groups is None or groups.worst is None:
            return {"groups": {} if groups is None else groups.content(), "worst_group": None}
        worst = {
            "name": groups.names[groups.worst],
            "n": int(groups.items[groups.worst]),
            "accuracy": self.number(WORST_GROUP),
        }
        return {"groups": groups.content(), "worst_group": worst}

    def _subgroups(self) -> dict[str, Any]:
        """The subgroups of each divided column; empty without any."""
        scores, metrics = self.scores, metrics_of(self.scores.table.task)
        small: dict[str, NDArray[np.bool_]] = {}
        values: dict[str, dict[str, Any]] = {division.column: {} for division in scores.divisions}
        for place, subgroup in enumerate(scores.subgroups):
            column, rows = subgroup.column, subgroup.rows
            items, groups = scores.size(rows)
            if min(items, groups) < FEWEST:
                small[column] = rows | small.get(column, np.zeros_like(rows))
                continue
            counts = np.nansum(scores.truth[rows], axis=0).astype(int).tolist()
            values[column][subgroup.name] = {
                "n": items,
                "n_groups": groups,
                "few_groups": groups < bootstrap.FEW_GROUPS,
                "classes": dict(zip(scores.table.class_names, counts, strict=True)),
                "reason": None,
                "metrics": self.numbers(metrics, f"subgroup/{place}/"),
            }
        for column, rows in small.items():
            if rows.any():
                values[column][OTHER] = _of_small(*scores.size(rows))
        columns = {
            division.column: {
                "how": division.how,
                "edges": list(division.edges),
                "missing": int((scores.table.columns[division.column] == "").sum()),
                "values": values[division.column],
                "gaps": _gaps(values[division.column], metrics),
            }
            for division in scores.divisions
        }
        return {"subgroups": columns} if columns else {}

    def _decided(self) -> dict[str, Any]:
        """Errors when unsure images are referred, and what a binary test decides."""
        scores, entry = self.scores, dict[str, Any]()
        if scores.why_not():
            return entry
        if scores.table.task != "multi-label":
            entry["error_at_coverage"] = {
                str(percent): self.number(f"coverage/{percent}/error") for percent in COVERAGES
            }
        if scores.labels:
            entry["confusion_at_thresholds"] = confusion(scores, at_thresholds=True)
        elif scores.called is not None:
            truth = scores.table.label == scores.positive
            entry["decisions"] = operating_point.decisions(truth, scores.called)
            if scores.point.prevalence is not None:
                names = ("ppv_at_prevalence", "npv_at_prevalence")
                entry["at_prevalence"] = self.numbers(names)
        return entry

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


def _of_small(items: int, groups: int) -> dict[str, Any]:
    """All small subgroups of a column together; None for a number that is itself small."""
    return {
        "n": None if items < FEWEST else items,
        "n_groups": None if groups < FEWEST else groups,
        "few_groups": groups < bootstrap.FEW_GROUPS,
        "classes": {},
        "reason": f"fewer than {FEWEST} images or patients in each",
        "metrics": {},
    }


def _gaps(values: Mapping[str, Mapping[str, Any]], metrics: Iterable[str]) -> dict[str, Any]:
    """Largest minus smallest of each metric over the subgroups that have one."""
    gaps = {}
    for metric in metrics:
        defined = {
            name: of["metrics"][metric]["value"]
            for name, of in values.items()
            if of["metrics"] and of["metrics"][metric]["value"] is not None
        }
        if len(defined) > 1:
            low, high = min(defined, key=defined.__getitem__), max(defined, key=defined.__getitem__)
            value = defined[high] - defined[low]
            gaps[metric] = {"value": value, "lowest": low, "highest": high, "of": len(defined)}
    return gaps
