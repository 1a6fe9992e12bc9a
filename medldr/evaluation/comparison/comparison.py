"""The one typed view of what `medldr.evaluation.compare` returns."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from medldr.evaluation.comparison.plain_values import (
    class_score_of,
    contrast_of,
    estimate_of,
    method_of,
    score_of,
    size_of,
)
from medldr.evaluation.comparison.records import (
    ClassScore,
    Collapse,
    Contrast,
    Difference,
    Gap,
    Margin,
    Method,
    Missing,
    Score,
    Size,
)
from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import IntervalRecord
from medldr.types import SPLIT_TITLES

__all__ = [
    "ClassScore",
    "Collapse",
    "Comparison",
    "Contrast",
    "Difference",
    "Gap",
    "Method",
    "Missing",
    "Score",
    "Size",
]

S = TypeVar("S", Score, ClassScore, Gap, Collapse)


@dataclass(frozen=True)
class Comparison:
    """A comparison.

    Attributes:
        task: The task.
        reference: The method that all others are compared with.
        methods: In their order.
        splits: Size of each split compared.
        scores: One per split, domain, metric and method.
        classes: One per split, class and method.
        gaps: One per metric and method.
        contrasts: One per split, domain, metric and pair.
        pairs: One per split, metric and two competing methods.
        collapses: Runs that predict a single class, or never one that occurs.
        footnotes: On methods that differ from the reference.
        missing: Runs without a result.
        notes: What readers should know about the comparison as a whole.
        intervals: How the intervals were made; None where unknown.
        margin: For non-inferiority; None where none was asked for.
    """

    task: str
    reference: str
    methods: tuple[Method, ...]
    splits: Mapping[str, Size]
    scores: tuple[Score, ...] = ()
    classes: tuple[ClassScore, ...] = ()
    gaps: tuple[Gap, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    pairs: tuple[Contrast, ...] = ()
    collapses: tuple[Collapse, ...] = ()
    footnotes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    intervals: IntervalRecord | None = None
    margin: Margin | None = None

    @classmethod
    def of(cls, result: Mapping[str, Any]) -> Comparison:
        """The view of what `medldr.evaluation.compare` returns."""
        footnotes = tuple(result["footnotes"])
        made = result["intervals"]
        return cls(
            task=result["task"],
            reference=result["reference"],
            methods=tuple(method_of(entry, footnotes) for entry in result["methods"]),
            splits={name: size_of(about) for name, about in result["splits"].items()},
            scores=tuple(map(score_of, result["rows"])),
            classes=tuple(map(class_score_of, result["classes"])),
            gaps=tuple(
                Gap(e["metric"], e["method"], e["seen"], estimate_of(e), e["note"] or "")
                for e in result["gaps"]
            ),
            contrasts=tuple(map(contrast_of, result["contrasts"])),
            pairs=tuple(map(contrast_of, result["pairs"])),
            collapses=tuple(Collapse(**entry) for entry in result["degenerate"]),
            footnotes=footnotes,
            missing=tuple(Missing(entry["run"], entry["reason"]) for entry in result["missing"]),
            notes=tuple(result["notes"]),
            intervals=None if made is None else IntervalRecord.model_validate(made),
            margin=Margin(**result["margin"]) if result.get("margin") else None,
        )

    @functools.cached_property
    def _by_place(self) -> dict[tuple[str, str | None, str, str], Score]:
        return {(s.split, s.domain, s.metric, s.method): s for s in self.scores}

    def score(
        self, split: str, metric: str, method: str, domain: str | None = None
    ) -> Score | None:
        """One metric of one method; None where it was not computed."""
        return self._by_place.get((split, domain, metric, method))

    def estimate(
        self, split: str, metric: str, method: str, domain: str | None = None
    ) -> Estimate | None:
        """Mean over runs of one metric of one method; None where it was not computed."""
        found = self.score(split, metric, method, domain)
        return None if found is None else found.estimate

    def difference(
        self, split: str, metric: str, method: str, domain: str | None = None
    ) -> Difference | None:
        """One method minus the reference; None for the reference, or where it was not computed."""
        found = self.score(split, metric, method, domain)
        return None if found is None else found.difference

    def contrast(self, split: str, metric: str, method: str, minus: str) -> Difference | None:
        """One method minus another on a whole split; None where either has no result."""
        wanted = (split, None, metric, method, minus)
        return next((c.difference for c in self.contrasts if c[:5] == wanted), None)

    @functools.cached_property
    def _by_pair(self) -> dict[tuple[str, str, str, str], Difference]:
        return {(p.split, p.metric, p.method, p.minus): p.difference for p in self.pairs}

    def pair(self, split: str, metric: str, one: str, other: str) -> Difference | None:
        """Two competing methods on a whole split, in either order: only the sign depends on it."""
        there = self._by_pair.get((split, metric, one, other))
        return there or self._by_pair.get((split, metric, other, one))

    def gap(self, metric: str, method: str) -> Gap | None:
        """How much a method loses on unseen domains; None where that was not measured."""
        return next((g for g in self.gaps if (g.metric, g.method) == (metric, method)), None)

    def collapsed(self, split: str) -> tuple[list[Collapse], dict[str, tuple[int, ...]]]:
        """Runs with degenerate predictions on a split, and the seeds of every method."""
        seeds = {method.name: method.seeds for method in self.methods}
        return [run for run in self.collapses if run.split == split], seeds

    def metrics(self, split: str | None = None) -> list[str]:
        """Metrics computed on a whole split, or on any."""
        found = (s for s in self.scores if s.domain is None and split in (None, s.split))
        return list(dict.fromkeys(score.metric for score in found))

    def differs(self, metric: str) -> bool:
        """Whether any split has a defined difference of this metric."""
        return any(
            s.metric == metric and s.domain is None and s.difference is not None
            and s.difference.estimate.mean is not None
            for s in self.scores
        )  # fmt: skip

    def unseen(self, split: str) -> list[str]:
        """Domains of a split without training rows; empty if any of them has one."""
        found = {s.domain: s.seen for s in self.scores if s.split == split and s.domain is not None}
        return [] if any(found.values()) else list(found)

    @property
    def page_order(self) -> list[str]:
        """Its splits in the order in which pages show them, the test split first."""
        order = [split for split in ("test", "id_test") if split in self.splits]
        return list(dict.fromkeys([*order, *self.splits]))

    def title(self, split: str) -> str:
        """A split with its size in images and groups, marked as unseen without training rows."""
        title, unseen = SPLIT_TITLES.get(split, split), self.unseen(split)
        if unseen:
            many = "domain" if len(unseen) == 1 else "domains"
            title += f", unseen {many} ({', '.join(unseen)})"
        return f"{title}, n = {self.splits[split].counts}"

    @property
    def names(self) -> list[str]:
        """Names of the methods, in their order."""
        return [method.name for method in self.methods]

    @property
    def others(self) -> list[Method]:
        """All methods but the reference."""
        return [method for method in self.methods if method.name != self.reference]

    @property
    def controls(self) -> list[str]:
        """Names of the methods marked as controls."""
        return [method.name for method in self.methods if method.control]

    def renamed(self, names: Mapping[str, str]) -> Comparison:
        """The same comparison with other names for its methods.

        Args:
            names: The new name of each method.
        """

        def each(entries: tuple[S, ...]) -> tuple[S, ...]:
            return tuple(entry._replace(method=names[entry.method]) for entry in entries)

        def both(entries: tuple[Contrast, ...]) -> tuple[Contrast, ...]:
            return tuple(
                entry._replace(method=names[entry.method], minus=names[entry.minus])
                for entry in entries
            )

        return replace(
            self,
            reference=names[self.reference],
            methods=tuple(replace(method, name=names[method.name]) for method in self.methods),
            scores=each(self.scores),
            classes=each(self.classes),
            gaps=each(self.gaps),
            collapses=each(self.collapses),
            contrasts=both(self.contrasts),
            pairs=both(self.pairs),
        )

    def short_names(self) -> tuple[str, Comparison]:
        """Remove the prefix that all method names share, up to an underscore.

        Returns:
            The prefix, empty where there is none, and the comparison with the short names.

        Example:
            >>> methods = (Method("octmnist_erm"), Method("octmnist_latentdr_sa"))
            >>> common, short = Comparison("binary", "octmnist_erm", methods, {}).short_names()
            >>> common, short.names, short.reference
            ('octmnist', ['erm', 'latentdr_sa'], 'erm')
        """
        words = [name.split("_") for name in self.names]
        count = 0
        for column in zip(*(parts[:-1] for parts in words), strict=False):
            if len(set(column)) > 1:
                break
            count += 1
        if count == 0 or len(words) < 2:
            return "", self
        common = "_".join(words[0][:count])
        return common, self.renamed({n: n.removeprefix(f"{common}_") for n in self.names})

    def controls_last(self, controls: Collection[str]) -> Comparison:
        """The same comparison with the controls marked and placed below all other methods."""
        marked = [replace(method, control=method.name in controls) for method in self.methods]
        return replace(self, methods=tuple(sorted(marked, key=lambda method: method.control)))
