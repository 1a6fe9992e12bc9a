"""The scores of one split of one run: every metric of the split and of each of its domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError, did_you_mean
from medldr.evaluation import groups, intervals
from medldr.evaluation.metrics import ranking
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.metrics.operating_point import OperatingPoint
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.metrics import METRICS, TASKS, metric_facts
from medldr.types import DataSpec, Predictions, Task

CLASS_METRICS = tuple(
    metric.name
    for metric in sorted(METRICS.values(), key=lambda metric: "split" in metric.levels)
    if "class" in metric.levels
)
DOMAIN_METRICS = tuple(metric.name for metric in METRICS.values() if "domain" in metric.levels)
WORST_DOMAIN = "worst_domain/accuracy"


def headline_metrics(task: Task) -> list[str]:
    """Metrics of a whole split in the order of `evaluation.json`: those of every task first."""
    found = [m for m in METRICS.values() if task in m.tasks and "split" in m.levels]
    common = [m.name for m in found if m.tasks == TASKS]
    own = [m for m in found if m.tasks != TASKS]
    return common + [m.name for m in sorted(own, key=lambda m: not m.calibration)]


def positive_class(predictions: Predictions | DataSpec, name: str | None) -> int:
    """Column of the positive class of a binary task: the named one, else the second.

    Raises:
        InputError: If no class has that name, or the task is not binary.
    """
    if name is None:
        return 1
    known = predictions.class_names
    if predictions.task != "binary":
        raise InputError(
            f"evaluation.positive_class is {name!r}, but the task is {predictions.task}, and "
            "only a binary task has a positive class. Remove the key."
        )
    if name not in known:
        raise InputError(
            f"evaluation.positive_class: there is no class {name!r}.{did_you_mean(name, known)} "
            f"Known: {', '.join(known)}"
        )
    return known.index(name)


@dataclass(frozen=True)
class SplitScores:
    """Metrics of one split, as sums over the units that the bootstrap draws.

    Names are ``<metric>``, ``class/<number>/<metric>``, ``domain/<domain>/<metric>`` and, where
    there are domains, ``worst_domain/accuracy``: the lowest accuracy of any domain, determined in
    each draw. Where groups are requested, ``worst_group/accuracy`` is that of any group.

    Attributes:
        table: Predictions of the split.
        bins: Bins of the calibration error.
        positive: Column of the positive class; binary only.
        point: Threshold from the validation split; binary only.
        per_group: Whether groups are scored.
    """

    table: Predictions
    bins: int
    positive: int
    point: OperatingPoint
    per_group: bool = False

    @cached_property
    def units(self) -> intervals.Units:
        """The units that the bootstrap draws."""
        return intervals.units(self.table)

    @cached_property
    def truth(self) -> Array:
        """``(N, K)`` of 1, 0 and NaN (missing)."""
        return ranking.positives(self.table.label, len(self.table.class_names), self.table.task)

    @cached_property
    def domains(self) -> dict[str, NDArray[np.bool_]]:
        """Rows of each domain, in alphabetical order."""
        return {str(d): self.table.domain == d for d in np.unique(self.table.domain) if d}

    def of_part(self, name: str) -> SplitScores:
        """The same scores for one part of the held-out domains."""
        return replace(self, table=self.table.select(self.table.part == name), per_group=False)

    def why_not(self, domain: str | None = None) -> str | None:
        """Why nothing can be measured in the split or one of its domains; None if it can."""
        rows = slice(None) if domain is None else self.domains[domain]
        return metrics.unusable(self.table.label[rows], self.table.prob[rows])

    @cached_property
    def groups(self) -> groups.Groups | None:
        """Accuracy of each group; None where it was not requested or cannot be measured."""
        asked = self.per_group and self.units.kind == "group" and self.why_not() is None
        return groups.group_counts(self.table) if asked else None

    @cached_property
    def parts(self) -> list[tuple[str, Sums]]:
        """Prefix of the names and metrics: the whole split, then each domain."""
        found: list[tuple[str, Sums]] = []
        if self.why_not() is None:
            found += [("", sums) for sums in self._measures(slice(None))]
        if self.groups is not None:
            found.append(("", self._by_unit(groups.worst_group(self.table), slice(None))))
        for name, rows in self.domains.items():
            if self.why_not(name) is None:
                found += [(f"domain/{name}/", sums) for sums in self._measures(rows)]
        return found

    def _measures(self, rows: NDArray[np.bool_] | slice) -> list[Sums]:
        found = metrics.measures(
            self.table.label[rows],
            self.table.prob[rows],
            self.table.task,
            bins=self.bins,
            positive=self.positive,
            threshold=self.point.threshold,
        )
        return [self._by_unit(sums, rows) for sums in found]

    def _by_unit(self, sums: Sums, rows: NDArray[np.bool_] | slice) -> Sums:
        return sums.by_group(self.units.number[rows], self.units.count)

    def values(self) -> dict[str, Array]:
        """Every metric as ``(1,)``, NaN where undefined."""
        found = {
            prefix + name: np.array([value])
            for prefix, sums in self.parts
            for name, value in sums.value().items()
        }
        return self.with_worst(found)

    def draws(self, draws: int, seed: int, split: str) -> dict[str, Array]:
        """Every metric in every draw ``(draws,)``, NaN where undefined."""
        generator = intervals.stream(seed, split)
        found = intervals.resample(self.parts, self.units, draws=draws, generator=generator)
        return self.with_worst(found)

    def with_worst(self, found: dict[str, Array]) -> dict[str, Array]:
        """Add the lowest accuracy over domains, undefined where that of any domain is."""
        names = [f"domain/{domain}/accuracy" for domain in self.domains]
        known = [found[name] for name in names if name in found]
        return {**found, WORST_DOMAIN: lowest(known)} if known else found

    def reason(self, name: str) -> str:
        """Why a metric is undefined."""
        kind, *rest = name.split("/", 1)
        if kind == "domain":
            domain = rest[0].rsplit("/", 1)[0]
            return self.why_not(domain) or metrics.reason(name)
        if self.why_not():
            return str(self.why_not())
        if metric_facts(name).threshold and self.point.threshold is None:
            return str(self.point.reason)
        known = True
        if kind == "class":
            known = bool((~np.isnan(self.truth[:, int(rest[0].split("/")[0])])).any())
        return metrics.reason(name, known=known)


def lowest(accuracies: Sequence[Array]) -> Array:
    """Smallest over domains in each draw; NaN where any is undefined."""
    out: Array = np.min(np.stack(list(accuracies)), axis=0)
    return out
