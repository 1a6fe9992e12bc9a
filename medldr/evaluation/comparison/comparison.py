"""A comparison of runs: the means of each method, and the frame of differences between methods."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar

from medldr.evaluation.comparison.findings import Finding, Verdict, finding
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.inference import holm
from medldr.evaluation.primary import DEFAULT
from medldr.folders.evaluation_parts import CalibrationRecord, IntervalRecord
from medldr.types import SPLIT_TITLES

Family = Literal["reference", "asked", "competing"]


class Difference(NamedTuple):
    """One method minus another in one metric, in the same draws: a row of the second frame.

    Attributes:
        split: The split.
        domain: None for the whole split.
        metric: The metric.
        method: The method.
        minus: The other method.
        estimate: The difference with its interval and its p.
        p_holm: The p after Holm's correction over its column, that is the differences of a family
            in one split, domain and metric; None for a control and between competing methods.
        seeds: Seeds of the method that has fewer.
        barred: What its runs are, in two or three words, where a p would not describe them.
        family: ``reference``: every method minus the reference; ``asked``: the pairs that somebody
            asked for; ``competing``: any two that are neither control nor oracle, from which a
            table knows which methods are clearly worse than the best.
        non_inferiority: What the interval tells about the margin; None where none was asked for,
            or the difference is not judged.
    """

    split: str
    domain: str | None
    metric: str
    method: str
    minus: str
    estimate: Estimate
    p_holm: float | None = None
    seeds: int = 0
    barred: str = ""
    family: Family = "reference"
    non_inferiority: Verdict | None = None

    @property
    def p(self) -> float | None:
        """Two-sided; None where it is undefined."""
        return self.estimate.p

    @property
    def corrected(self) -> float | None:
        """Its p, corrected for the comparisons of its family; a control has no family."""
        return self.p if self.p_holm is None else self.p_holm

    @property
    def untested(self) -> str:
        """Why it is not tested although it may have an interval, in words; empty if it is."""
        return self.barred or {1: "a single seed", 2: "two seeds"}.get(self.seeds, "")

    @property
    def finding(self) -> Finding | None:
        """What it shows; None where it is undefined."""
        return finding(self.metric, self.estimate, self.corrected, self.untested)


def corrected(column: Sequence[Difference], controls: Collection[str] = ()) -> list[Difference]:
    """Differences of one column with their p after Holm's correction.

    Args:
        column: Differences of one family in one split, domain and metric.
        controls: Methods that explain others. They are no further chances of finding one better,
            so the correction does not count them, and they have none.
    """
    adjusted = holm({(d.method, d.minus): d.p for d in column if d.method not in controls})
    return [d._replace(p_holm=adjusted.get((d.method, d.minus))) for d in column]


class Margin(NamedTuple):
    """How much worse a method may be and still count as non-inferior: a difference of values."""

    metric: str
    value: float


class Score(NamedTuple):
    """One metric of one method on a split, on one of its domains or of one of its classes.

    Attributes:
        split: The split.
        domain: None for the whole split.
        metric: The metric; ``class/0/recall`` where it is of a class.
        method: The method.
        estimate: Mean over its runs, with interval and spread.
        values: One per run; None where it is undefined.
        seen: Whether training rows came from this domain; None for a whole split.
        few_groups: Whether it was measured on too few groups.
        class_: The class or label; empty for a metric of all.
        n: Images of the class, or its positives; 0 for a metric of all.
        n_groups: Groups that the metric of a class depends on.
    """

    split: str
    domain: str | None
    metric: str
    method: str
    estimate: Estimate
    values: tuple[float | None, ...] = ()
    seen: bool | None = None
    few_groups: bool = False
    class_: str = ""
    n: int = 0
    n_groups: int | None = None

    @property
    def runs(self) -> int:
        """How many runs the mean is over."""
        return len(self.values)


class Gap(NamedTuple):
    """A seen split minus the test split; `note` says what else it may come from, if anything."""

    metric: str
    method: str
    seen: str
    estimate: Estimate
    note: str = ""


@dataclass(frozen=True)
class Method:
    """Runs that differ only in their seed.

    Attributes:
        name: Its name in the comparison.
        label: The label of its configuration.
        hash: Identity of its configuration.
        seeds: One per run.
        runs: Names of the run folders.
        protocol: Protocol id; None without one.
        augmentation: Id of its augmentation; None without one.
        precision: The precision used.
        data_hash: One number for all data.
        split_hash: One number for the splits.
        selection: The rule that chose the weights.
        oracle: Whether any run was selected on the test split.
        same_protocol: Whether it followed the protocol of the reference.
        footnotes: Where it differs from the reference although it should not, and whether its
            probabilities were recalibrated.
        control: Whether it is a control of a sweep.
    """

    name: str
    label: str = ""
    hash: str = ""
    seeds: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    protocol: str | None = None
    augmentation: str | None = None
    precision: str | None = None
    data_hash: str | None = None
    split_hash: str | None = None
    selection: str | None = None
    oracle: bool = False
    same_protocol: bool = False
    footnotes: tuple[str, ...] = ()
    control: bool = False


@dataclass(frozen=True)
class Size:
    """Size of a split or a domain.

    Attributes:
        n: Its images.
        n_groups: Its groups (patients, slides).
        few_groups: Whether these are too few.
        domains: Those of a split.
        unit: What the bootstrap draws: ``group``, or ``item`` where no image has a group.
        class_shares: Share of each class among the images; of each label, that of the positives.
        absent_classes: Classes without an image, or labels without a positive; of a split alone.
    """

    n: int = 0
    n_groups: int | None = None
    few_groups: bool = False
    domains: Mapping[str, Size] = field(default_factory=dict)
    unit: str = ""
    class_shares: Mapping[str, float] = field(default_factory=dict)
    absent_classes: tuple[str, ...] = ()

    @property
    def groups(self) -> int | None:
        """Its groups, where images are known to belong to some."""
        return self.n_groups if self.unit == "group" else None

    @property
    def counts(self) -> str:
        """Number of images, and of groups where they are fewer, in words.

        Example:
            >>> Size(1240, 310, unit="group").counts, Size(80, 80, unit="item").counts
            ('1,240 images of 310 groups (patients, slides)', '80 images')
        """
        fewer = self.groups is not None and self.groups != self.n
        more = f" of {self.groups:,} groups (patients, slides)" if fewer else ""
        return f"{self.n:,} images{more}"


class Collapse(NamedTuple):
    """A run that no accuracy should be read without; see `counts.Degenerate`."""

    split: str
    method: str
    seed: int
    only: str
    lost: tuple[tuple[str, int], ...]


class Missing(NamedTuple):
    """A run without a result; the reason may quote an error and thus name a file."""

    run: str
    reason: str


S = TypeVar("S", Score, Gap, Collapse)


@dataclass(frozen=True)
class Comparison:
    """A comparison.

    Attributes:
        task: The task.
        reference: The method that all others are compared with.
        methods: In their order.
        splits: Size of each split compared.
        scores: One per split, domain or class, metric and method.
        gaps: One per metric and method.
        differences: One per split, domain, metric and two methods, family by family.
        collapses: Runs that predict a single class, or never one that occurs.
        footnotes: On methods that differ from the reference.
        missing: Runs without a result.
        notes: What readers should know about the comparison as a whole.
        class_names: Names of the classes, or labels.
        positive_class: Of a binary task.
        intervals: How the intervals were made; None where unknown.
        calibration: How calibration was measured.
        margin: For non-inferiority; None where none was asked for.
        primary: The metric that leads: the one that all runs were planned for, else accuracy.
    """

    task: str
    reference: str
    methods: tuple[Method, ...]
    splits: Mapping[str, Size]
    scores: tuple[Score, ...] = ()
    gaps: tuple[Gap, ...] = ()
    differences: tuple[Difference, ...] = ()
    collapses: tuple[Collapse, ...] = ()
    footnotes: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    positive_class: str | None = None
    intervals: IntervalRecord | None = None
    calibration: CalibrationRecord = field(default_factory=CalibrationRecord)
    margin: Margin | None = None
    primary: str = DEFAULT

    @property
    def classes(self) -> list[Score]:
        """The scores of single classes or labels."""
        return [score for score in self.scores if score.class_]

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
        score = self.score(split, metric, method, domain)
        return None if score is None else score.estimate

    @functools.cached_property
    def _by_pair(self) -> dict[tuple[str, str | None, str, str, str, str], Difference]:
        return {
            (d.family, d.domain, d.split, d.metric, d.method, d.minus): d for d in self.differences
        }

    def difference(
        self, split: str, metric: str, method: str, domain: str | None = None
    ) -> Difference | None:
        """One method minus the reference; None for the reference, or where it was not computed."""
        return self._by_pair.get(("reference", domain, split, metric, method, self.reference))

    def contrast(self, split: str, metric: str, method: str, minus: str) -> Difference | None:
        """A pair that was asked for, on a whole split; None where either has no result."""
        return self._by_pair.get(("asked", None, split, metric, method, minus))

    def pair(self, split: str, metric: str, one: str, other: str) -> Difference | None:
        """Two competing methods on a whole split, in either order: only the sign depends on it."""
        place = "competing", None, split, metric
        return self._by_pair.get((*place, one, other)) or self._by_pair.get((*place, other, one))

    def gap(self, metric: str, method: str) -> Gap | None:
        """How much a method loses on unseen domains; None where that was not measured."""
        return next((g for g in self.gaps if (g.metric, g.method) == (metric, method)), None)

    def collapsed(self, split: str) -> tuple[list[Collapse], dict[str, tuple[int, ...]]]:
        """Runs with degenerate predictions on a split, and the seeds of every method."""
        seeds = {method.name: method.seeds for method in self.methods}
        return [run for run in self.collapses if run.split == split], seeds

    def metrics(self, split: str | None = None) -> list[str]:
        """Metrics computed on a whole split, or on any."""
        whole = (s for s in self.scores if s.domain is None and split in (None, s.split))
        return list(dict.fromkeys(score.metric for score in whole))

    def differs(self, metric: str) -> bool:
        """Whether any split has a defined difference of this metric."""
        return any(
            (d.family, d.domain, d.metric) == ("reference", None, metric)
            and d.estimate.mean is not None
            for d in self.differences
        )

    def unseen(self, split: str) -> list[str]:
        """Domains of a split without training rows; empty if any of them has one."""
        seen = {s.domain: s.seen for s in self.scores if s.split == split and s.domain is not None}
        return [] if any(seen.values()) else list(seen)

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
        return f"{title}, n = {self.counts(split)}"

    def counts(self, split: str) -> str:
        """Images and groups of a split, and the positives of a binary task, in words."""
        size, name = self.splits[split], self.positive_class or ""
        share = size.class_shares.get(name)
        return size.counts + ("" if share is None else f", {round(share * size.n):,} “{name}”")

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

        return replace(
            self,
            reference=names[self.reference],
            methods=tuple(replace(method, name=names[method.name]) for method in self.methods),
            scores=each(self.scores),
            gaps=each(self.gaps),
            collapses=each(self.collapses),
            differences=tuple(
                d._replace(method=names[d.method], minus=names[d.minus]) for d in self.differences
            ),
        )

    def without_tests(self, why: str, methods: Collection[str] = ()) -> Comparison:
        """The same comparison without any p or verdict, for runs that these do not describe.

        Args:
            why: What the runs are, in a few words.
            methods: The methods of these runs; empty: all. Holm's correction is over the rest.
        """
        tested: dict[tuple[Any, ...], list[Difference]] = {}
        others: list[Difference] = []
        for d in self.differences:
            if methods and {d.method, d.minus}.isdisjoint(methods):
                place = () if d.p_holm is None else (d.family, d.split, d.domain, d.metric)
                (tested.setdefault(place, []) if place else others).append(d)
                continue
            others.append(
                d._replace(
                    estimate=replace(d.estimate, p=None),
                    p_holm=None,
                    barred=why,
                    non_inferiority="cannot tell" if d.non_inferiority else None,
                )
            )
        again = (d for column in tested.values() for d in corrected(column))
        return replace(self, differences=(*others, *again))

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
