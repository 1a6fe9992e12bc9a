"""The scores of one split of one run: every metric of the split and of each of its domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError, did_you_mean, some
from medldr.evaluation import class_mix, groups, subgroups
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.intervals.single_run import Sample
from medldr.evaluation.metrics import calibration, counts, operating_point, ranking
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.metrics.items import Items, Shots
from medldr.evaluation.metrics.sums import Array, Sums
from medldr.folders.evaluation_parts import OperatingPoint
from medldr.metrics import METRICS, TASKS, metric_facts
from medldr.types import DataSpec, Predictions, Task

CLASS_METRICS = tuple(
    metric.name
    for metric in sorted(METRICS.values(), key=lambda metric: "split" in metric.levels)
    if "class" in metric.levels
)
LABEL_METRICS = tuple(m.name for m in METRICS.values() if m.threshold and "split" in m.levels)
"""Metrics of each label of a multi-label task at its threshold."""
DOMAIN_METRICS = tuple(metric.name for metric in METRICS.values() if "domain" in metric.levels)
WORST_DOMAIN = "worst_domain/accuracy"


def headline_metrics(task: Task, *, shots: bool = False) -> list[str]:
    """Metrics of a whole split in the order of `evaluation.json`: those of every task first.

    Args:
        task: Kind of labels.
        shots: Whether frequent and rare classes are scored apart.
    """
    fitting = [
        m
        for m in METRICS.values()
        if task in m.tasks and "split" in m.levels and (shots or not m.shots)
    ]
    common = [m.name for m in fitting if m.tasks == TASKS]
    own = [m for m in fitting if m.tasks != TASKS]
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
            f"Known: {some(known)}"
        )
    return known.index(name)


class Thresholds(NamedTuple):
    """How items are decided, as `SplitScores` takes it.

    Attributes:
        point: The operating point of a binary task; without a threshold for any other.
        drawn: Its threshold in each draw of the validation split; None: the same in all.
        labels: Of each label of a multi-label task; empty for any other, and for a label.
    """

    point: OperatingPoint
    drawn: Array | None = None
    labels: Mapping[str, Thresholds] = MappingProxyType({})

    @property
    def points(self) -> dict[str, OperatingPoint]:
        """The operating point of each label."""
        return {name: of.point for name, of in self.labels.items()}


def thresholds_of(
    predictions: Mapping[str, Predictions],
    positive: int,
    specificity: float | None,
    prevalence: float | None = None,
    draws: int = 0,
    seed: int = 0,
) -> Thresholds:
    """The thresholds of the validation split, and those of every bootstrap draw of it.

    These are the draws in which that split itself is scored, and they are independent of those of
    any other split. All labels of a multi-label task have the same draws.

    Args:
        predictions: Tables by split.
        positive: Column of the positive class; binary only.
        specificity: The requested one, of each label if there are several; None: nothing is
            decided.
        prevalence: Stated prevalence, if any.
        draws: Number of draws; 0: none.
        seed: Their seed.

    Returns:
        The thresholds; drawn ones are ``(draws,)``, NaN in draws without negatives.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = np.linspace(0.01, 0.5, 50)
        >>> table = predictions_of("binary", [0] * 50, np.stack([1 - prob, prob], 1))
        >>> point, drawn, _ = thresholds_of({"val": table}, 1, 0.9, draws=200)
        >>> point.threshold, bool(0.4 < drawn.mean() < 0.47), bool(0.01 < drawn.std() < 0.05)
        (0.45, True, True)
    """
    if specificity is None:
        return Thresholds(OperatingPoint(specificity=0.5))
    point = operating_point.find(
        predictions, positive=positive, specificity=specificity, prevalence=prevalence
    )
    labels = operating_point.find_each(predictions, specificity)
    columns = dict(enumerate(labels.values())) or {positive: point}
    decided = [column for column, of in columns.items() if of.threshold is not None]
    drawn: dict[int, Array] = {}
    if draws and decided:
        split = str(columns[decided[0]].split)
        drawn = _drawn(
            predictions[split], decided, specificity, draws, bootstrap.stream(seed, split)
        )
    each = {name: Thresholds(of, drawn.get(k)) for k, (name, of) in enumerate(labels.items())}
    return Thresholds(point, None if labels else drawn.get(positive), each)


def _drawn(
    table: Predictions,
    columns: Sequence[int],
    specificity: float,
    draws: int,
    stream: np.random.Generator,
) -> dict[int, Array]:
    """The threshold of each column ``(draws,)`` in the same draws, from its negatives."""
    truth = ranking.positives(table.label, len(table.class_names), table.task)
    units, found = bootstrap.units(table), []
    for weights in bootstrap.group_weights(units.count, draws, stream, len(table)):
        each = []
        for column in columns:
            scores, negative = table.prob[:, column], truth[:, column] == 0
            order = np.flatnonzero(negative)[np.argsort(scores[negative], kind="stable")]
            below = np.cumsum(weights[units.number[order]], axis=0)
            needed = np.maximum(np.ceil(specificity * below[-1] - 1e-9), 1.0)
            threshold = scores[order][np.argmax(below >= needed, axis=0)]
            each.append(np.where(below[-1] > 0, threshold, np.nan))
        found.append(each)
    return dict(zip(columns, np.concatenate(found, axis=1), strict=True))


def place_of(name: str) -> tuple[str, str]:
    """What a number of `SplitScores` is of: the kind of place and which one; empty for the split.

    Example:
        >>> place_of("domain/hospital_2/auc"), place_of("coverage/90/error")
        (('domain', 'hospital_2'), ('', ''))
    """
    kind, _, rest = name.partition("/")
    return (kind, rest.rpartition("/")[0]) if kind in ("class", "domain", "subgroup") else ("", "")


@dataclass(frozen=True)
class SplitScores:
    """Metrics of one split, as sums over the units that the bootstrap draws.

    Names are ``<metric>``, ``class/<number>/<metric>``, ``domain/<domain>/<metric>``,
    ``subgroup/<number>/<metric>`` and, where there are domains, ``worst_domain/accuracy``: the
    lowest accuracy of any domain. Where groups are requested, ``worst_group/accuracy`` is that of
    any group. Neither of these has draws: which one is lowest changes from draw to draw, and always
    to the lower side.

    Attributes:
        table: Predictions of the split.
        bins: Bins of the calibration error.
        positive: Column of the positive class; binary only.
        point: Threshold from the validation split; binary only.
        per_group: Whether groups are scored.
        drawn: The threshold in each draw; None: the same in all.
        divisions: How the columns of the metadata are divided into subgroups.
        labels: How each label is decided; multi-label only, empty: all at 0.5.
        shots: Training images of each class; None: frequent and rare classes are not told apart.
        for_draws: Whether sums are kept by unit, as draws need them; point values are quicker
            without.
    """

    table: Predictions
    bins: int
    positive: int
    point: OperatingPoint
    per_group: bool = False
    drawn: Array | None = None
    divisions: tuple[subgroups.Division, ...] = ()
    shots: Shots | None = None
    for_draws: bool = True
    labels: Mapping[str, Thresholds] = field(default_factory=dict)

    @property
    def headline(self) -> list[str]:
        """Metrics of the whole split."""
        return headline_metrics(self.table.task, shots=self.shots is not None)

    @cached_property
    def units(self) -> bootstrap.Units:
        """The units that the bootstrap draws."""
        return bootstrap.units(self.table)

    @cached_property
    def truth(self) -> Array:
        """``(N, K)`` of 1, 0 and NaN (missing)."""
        return ranking.positives(self.table.label, len(self.table.class_names), self.table.task)

    @cached_property
    def shares(self) -> Array:
        """``(K,)`` share of each class, or of the positives of each label."""
        return class_mix.shares(self.truth)

    @cached_property
    def domains(self) -> dict[str, NDArray[np.bool_]]:
        """Rows of each domain, in alphabetical order."""
        return {str(d): self.table.domain == d for d in np.unique(self.table.domain) if d}

    @cached_property
    def subgroups(self) -> tuple[subgroups.Subgroup, ...]:
        """Rows of each subgroup, in the order of their numbers."""
        return subgroups.subgroups_of(self.divisions, self.table)

    def size(self, rows: NDArray[np.bool_]) -> tuple[int, int]:
        """How many items some rows are, and of how many units."""
        return int(rows.sum()), len(np.unique(self.units.number[rows]))

    def of_part(self, name: str) -> SplitScores:
        """The same scores for one part of the held-out domains, as a whole."""
        part = self.table.select(self.table.part == name)
        part = replace(part, domain=np.full(len(part), "", np.str_))
        return replace(self, table=part, per_group=False, divisions=(), labels={})

    @cached_property
    def of_labels(self) -> tuple[SplitScores, ...]:
        """Each label as a binary test at its threshold, of the items where it is known."""
        found = []
        for column, of in enumerate(self.labels.values()):
            table = operating_point.of_label(self.table, column)
            scores = SplitScores(table, self.bins, 1, of.point, drawn=of.drawn, for_draws=False)
            found.append(scores)
        return tuple(found)

    @property
    def called(self) -> NDArray[np.bool_] | None:
        """``(N,)`` which items a binary test calls positive; None without a threshold.

        With several labels ``(N, L)``; one without a threshold is called above 0.5.
        """
        if self.labels and self.table.decision is None:
            cuts = [of.point.threshold for of in self.labels.values()]
            return np.asarray(self.table.prob > [0.5 if cut is None else cut for cut in cuts])
        if self.table.decision is not None or self.point.threshold is None:
            return self.table.decision
        return np.asarray(self.table.prob[:, self.positive] > self.point.threshold)

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
        """Prefix of the names and metrics: the whole split, then each domain and subgroup."""
        whole = [] if self.why_not() is not None else self._measures(slice(None))
        sums_by_prefix = [("", sums) for sums in whole]
        for name, rows in self.domains.items():
            if self.why_not(name) is None:
                # A domain that is the whole split has its sums; draws of all would take longer.
                same = bool(rows.all()) and not self.for_draws
                of_domain = whole if same else self._measures(rows, "domain")
                sums_by_prefix += [(f"domain/{name}/", sums) for sums in of_domain]
        for number, subgroup in enumerate(self.subgroups):
            rows = subgroup.rows
            if self.why_not() is None and min(self.size(rows)) >= subgroups.FEWEST:
                measures = self._measures(rows, "domain")
                sums_by_prefix += [(f"subgroup/{number}/", sums) for sums in measures]
        for column, of_label in enumerate(self.of_labels):
            numbers = self.units.number[~np.isnan(self.truth[:, column])]
            for sums in [] if self.why_not() else of_label.whole(LABEL_METRICS[0]):
                each = sums.by_group(numbers, self.units.count) if self.for_draws else sums
                sums_by_prefix.append((f"class/{column}/", each))
        return sums_by_prefix

    def whole(self, metric: str) -> list[Sums]:
        """What computes one metric of the whole split; empty where nothing can be measured."""
        return [] if self.why_not() else self._measures(slice(None), only=metric)

    def _measures(
        self, rows: NDArray[np.bool_] | slice, level: str = "", only: str = ""
    ) -> list[Sums]:
        items = Items(
            self.table.label[rows],
            self.table.prob[rows],
            self.table.task,
            bins=self.bins,
            positive=self.positive,
            threshold=self.point.threshold,
            drawn=self.drawn,
            decision=None if self.table.decision is None else self.table.decision[rows],
            prevalence=self.point.prevalence,
            shots=self.shots,
            ranks_by=self.table.ranks_by[rows],
        )
        measured = metrics.measures(items, level=level, only=only)
        if not self.for_draws:
            return measured
        number, count = self.units.number[rows], self.units.count
        return [sums.by_group(number, count) for sums in measured]

    @cached_property
    def values(self) -> dict[str, float]:
        """Every metric, NaN where undefined."""
        values = {
            prefix + name: value
            for prefix, sums in self.parts
            for name, value in sums.value().items()
        }
        names = [f"domain/{domain}/accuracy" for domain in self.domains]
        of_domains = [values[name] for name in names if name in values]
        if of_domains:  # undefined where that of any domain is
            values[WORST_DOMAIN] = float(np.min(of_domains))
        if self.groups is not None and self.groups.worst is not None:
            values[groups.WORST_GROUP] = float(self.groups.accuracy[self.groups.worst])
        return values

    def draws(self, draws: int, seed: int, split: str) -> dict[str, Array]:
        """Every metric in every draw ``(draws,)``, NaN where undefined."""
        generator = bootstrap.stream(seed, split)
        return bootstrap.resample(self.parts, self.units, draws=draws, generator=generator)

    def _rows(self, name: str) -> NDArray[np.bool_] | slice:
        """Rows that a metric is of."""
        kind, which = place_of(name)
        if kind == "domain":
            return self.domains[which]
        return self.subgroups[int(which)].rows if kind == "subgroup" else slice(None)

    def _column(self, name: str) -> int:
        """Column of the class that a metric is of: the positive one unless it names another."""
        kind, which = place_of(name)
        return int(which) if kind == "class" else self.positive

    def _label(self, name: str) -> SplitScores | None:
        """The binary test of the label that a metric at a threshold is of; None for others."""
        kind, which = place_of(name)
        if kind != "class" or not self.labels or not metric_facts(name).threshold:
            return None
        return self.of_labels[int(which)]

    def sample(self, name: str) -> Sample:
        """What a metric was measured on."""
        if (label := self._label(name)) is not None:
            return label.sample(metric_facts(name).name)._replace(grouped=self.units.grouped)
        rows, share, column = self._rows(name), metric_facts(name).share, self._column(name)
        counted, called = self._counted(name, column), self.called
        if share == "decided":
            known = ~np.isnan(self.truth[:, column])
            counted = known & counts.decided(self.table.prob, self.table.task)[:, column]
        elif share in ("flagged", "cleared") and called is not None:
            counted = called if share == "flagged" else ~called
        trials = int(counted[rows].sum())
        if name.startswith("coverage/"):
            trials = round(trials * int(name.split("/")[1]) / 100)
        # With several labels, accuracy is a mean of shares.
        mean = self.table.task == "multi-label" and metric_facts(name).name == "accuracy"
        units = self.units_of(name), self.units.grouped
        return Sample(*units, 0 if mean else trials, self._shares(metric_facts(name).ratio))

    def _shares(self, ratio: str) -> tuple[tuple[int, int], ...]:
        """Counts of the two shares of a likelihood ratio: of the positives, of the negatives."""
        if not ratio or self.called is None:
            return ()
        counted = self.called if ratio == "flagged" else ~self.called
        positive = self.table.label == self.positive
        each = (counted[truth] for truth in (positive, ~positive))
        return tuple((int(of.sum()), len(of)) for of in each)

    def units_of(self, name: str) -> int:
        """Units with items that a metric is of, whatever is predicted for them."""
        if (label := self._label(name)) is not None:
            return label.units_of(metric_facts(name).name)
        if name not in self._units_of:
            rows = self._rows(name)
            counted = self._counted(name, self._column(name))[rows]
            self._units_of[name] = len(np.unique(self.units.number[rows][counted]))
        return self._units_of[name]

    @cached_property
    def _units_of(self) -> dict[str, int]:
        return {}

    def _counted(self, name: str, column: int) -> NDArray[np.bool_]:
        """Items with a label that a metric may count: those of a class, or all that are known."""
        share = metric_facts(name).share
        if metric_facts(name).shots and self.shots is not None:
            bucket = metric_facts(name).name.removesuffix("_shot_accuracy")
            return np.asarray((self.truth[:, self.shots.members(bucket)] == 1).any(axis=1))
        if share in ("class", "positives", "negatives"):
            place = 1 - column if share == "negatives" else column
            return np.asarray(self.truth[:, place] == 1)
        return np.asarray(~np.isnan(self.truth).all(axis=1))

    def noise(self, name: str, samples: int, generator: np.random.Generator) -> tuple[float, float]:
        """What a calibration error would be without any miscalibration: see `noise_floor`."""
        table, rows = self.table, self._rows(name)
        if table.task == "multi-label":
            confidence = np.where(np.isnan(self.truth), np.nan, table.prob)[rows]
        elif metric_facts(name).name == "ece_positive":
            confidence = table.prob[rows, self.positive]
        else:
            label = table.label[rows].astype(np.int64)
            confidence, _ = calibration.top_label(label, table.prob[rows], table.task)
        return calibration.noise_floor(confidence, self.bins, samples, generator)

    def reason(self, name: str) -> str:
        """Why a metric is undefined."""
        kind, which = place_of(name)
        if kind == "domain":
            return self.why_not(which) or metrics.reason(name)
        if self.why_not():
            return str(self.why_not())
        if kind == "subgroup":
            return metrics.reason(name)
        if (label := self._label(name)) is not None:
            return label.reason(metric_facts(name).name)
        if metric_facts(name).threshold and self.called is None:
            return str(self.point.reason)
        known = kind != "class" or bool((~np.isnan(self.truth[:, int(which)])).any())
        return metrics.reason(name, known=known)
