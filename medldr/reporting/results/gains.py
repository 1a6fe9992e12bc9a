"""Which columns are data sets, where a method helps on each, and its gain pooled over them.

Pooling is with random effects. One data set is one effect: where its domains were held out in turn,
the mean over them. Data sets that several sweeps or columns evaluate are left out, since their
effects share test images.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from medldr.config.sections import dataset_name, held_out
from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.random_effects import RandomEffects, random_effects
from medldr.evaluation.split_scores import DOMAIN_METRICS
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import average_differences
from medldr.reporting.results.comparisons import Column

SEEN = "id_test"
Over = Literal["data sets", "domains"]


@dataclass(frozen=True)
class DataSet:
    """One data set of a sweep.

    Attributes:
        name: As printed: of its column, or of the data where it has several.
        data: Its name, the same in every sweep.
        columns: One, or one for each domain that was held out.
        held_out: What each column held out; empty strings for a column that held nothing out.
        shared: Whether another entry has the same test images, as columns of several batch sizes
            do: no two of these are independent.
    """

    name: str
    data: str
    columns: tuple[Column, ...]
    held_out: tuple[str, ...]
    shared: bool = False


def data_sets(study: Study, columns: Sequence[Column]) -> list[DataSet]:
    """The data sets of a sweep, in the order of its columns; columns without results are left out.

    Columns of one data set that hold different domains out are one entry; those that hold the same
    out, or nothing, are several that share their test images.
    """
    by_data: dict[str, list[tuple[Column, str]]] = {}
    for column in columns:
        if column.comparison is None:
            continue
        evaluated = [e for e in study.of(column=column.name) if e.files is not None]
        names = {dataset_name(e.config, e.files.facts) for e in evaluated if e.files is not None}
        domain = {" + ".join(held_out(e.config)) for e in evaluated}
        data = " + ".join(sorted(names))
        by_data.setdefault(data, []).append((column, domain.pop() if len(domain) == 1 else ""))
    sets = []
    for data, of_data in by_data.items():
        domains = tuple(domain for _, domain in of_data)
        if len(of_data) == 1:
            sets.append(DataSet(of_data[0][0].name, data, (of_data[0][0],), domains))
        elif all(domains) and len(set(domains)) == len(domains):
            sets.append(DataSet(data, data, tuple(column for column, _ in of_data), domains))
        else:
            sets += [
                DataSet(column.name, data, (column,), (domain,), shared=True)
                for column, domain in of_data
            ]
    return sets


class Gain(NamedTuple):
    """A method minus the reference in one place.

    Attributes:
        data: The data set, as printed.
        domain: The domain; None for a whole split: of data without domains, or all domains that
            runs with another one held out have seen.
        held_out: What these runs held out, where the place does not say it.
        split: The split.
        unseen: Whether no training image is from there; None for data without domains.
        method: The method.
        difference: With its interval; p only over several seeds.
    """

    data: str
    domain: str | None
    held_out: str
    split: str
    unseen: bool | None
    method: str
    difference: Difference


def gains(study: Study, columns: Sequence[Column], metric: str) -> dict[str, list[Gain]]:
    """Gains of every method but the reference, unseen domains first, the largest gain first.

    A gain is larger where it is better: for an error, where more of it is avoided.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: A metric that single domains have.
    """
    sign = -1.0 if metric_facts(metric).better == "lower" else 1.0
    rows = [row for row in study.rows if row != study.reference]
    by_row: dict[str, list[Gain]] = {row: [] for row in rows}
    for data in data_sets(study, columns):
        for column, domain in zip(data.columns, data.held_out, strict=True):
            for row in rows:
                by_row[row] += _of_column(data, column, domain, row, metric)
    order = {True: 0, None: 1, False: 2}
    return {
        row: sorted(of, key=lambda g: (order[g.unseen], -sign * (g.difference.estimate.mean or 0)))
        for row, of in by_row.items()
        if of
    }


def metric_of_domains(metric: str) -> str:
    """The metric that gains are of: accuracy in place of one that single domains do not have.

    Example:
        >>> metric_of_domains("auc"), metric_of_domains("worst_group")
        ('auc', 'accuracy')
    """
    return metric if metric in DOMAIN_METRICS else "accuracy"


def _of_column(data: DataSet, column: Column, held: str, row: str, metric: str) -> Iterator[Gain]:
    comparison = column.comparison
    if comparison is None:
        return
    for split in (name for name in comparison.page_order if name in ("test", SEEN)):
        domains = list(comparison.splits[split].domains)
        # With every domain held out once, each one is seen by all the other runs.
        together = len(data.columns) > 1 and split == SEEN
        places: list[str | None] = [None] if together or not domains else [*domains]
        for domain in places:
            score = comparison.score(split, metric, row, domain)
            difference = comparison.difference(split, metric, row, domain)
            if score is None or difference is None or difference.estimate.mean is None:
                continue
            unseen = None if score.seen is None else not score.seen
            unseen = False if together else unseen
            where = held if together else ""
            yield Gain(data.name, domain, where, split, unseen, row, difference)


class Effect(NamedTuple):
    """The gain on one data set, or on one held-out domain.

    Attributes:
        name: Of the data set or domain.
        estimate: The gain with its interval.
        error: Its standard error, of test images and, with several seeds, of training.
        few_seeds: Whether fewer than three seeds were trained, so that the error lacks that of
            training, or hardly knows it.
    """

    name: str
    estimate: Estimate
    error: float
    few_seeds: bool


@dataclass(frozen=True)
class Pooled:
    """The gains of one method.

    Attributes:
        method: The method.
        reference: What it is compared with.
        metric: The metric.
        over: What is pooled.
        effects: One per data set or domain.
        summary: None for fewer than two.
        left_out: Data sets that are evaluated more than once, and those without a standard error.
        control: Whether the method is a control.
    """

    method: str
    reference: str
    metric: str
    over: Over
    effects: tuple[Effect, ...]
    summary: RandomEffects | None
    left_out: tuple[str, ...] = ()
    control: bool = False

    @property
    def estimate(self) -> Estimate:
        """The pooled gain; its ends are cut to the largest difference that there can be."""
        summary = self.summary
        if summary is None:
            return Estimate(reason=f"fewer than two {self.over}")
        low, high = self._cut(summary.low, summary.high)
        return Estimate(summary.mean, se=summary.error, low=low, high=high)

    @property
    def predicted(self) -> tuple[float, float] | None:
        """Where the gain in a new place may lie, cut likewise; None for two places."""
        summary = self.summary
        if summary is None or summary.predicted is None:
            return None
        return self._cut(*summary.predicted)

    def _cut(self, low: float, high: float) -> tuple[float, float]:
        span = metric_facts(self.metric).span
        return max(low, -span), min(high, span)


class Compared(NamedTuple):
    """A sweep with what was compared of it."""

    study: Study
    columns: Sequence[Column]


class _DataGain(NamedTuple):
    data: DataSet
    gain: Estimate
    domains: tuple[Effect | str, ...]
    control: bool


def pooled(sweeps: Sequence[Compared], metric: str, split: str) -> list[Pooled]:
    """Pool the gains of each method over the data sets of all sweeps.

    Over held-out domains where there is one data set only: they share training images, so the
    interval is too narrow, and it is of domains of this data set.

    Args:
        sweeps: What to pool; methods are the same where their rows are printed alike.
        metric: The metric.
        split: The split.

    Returns:
        One per method and reference with two effects or more, in the order of the sweeps.
    """
    gains: dict[tuple[str, str], list[_DataGain]] = {}
    for study, columns in sweeps:
        for data in data_sets(study, columns):
            for row, gain in _gains(study, data.columns, metric, split):
                control = row in study.layout.controls
                each = tuple(_domains(study, data, metric, split, row))
                place = gains.setdefault((row, study.reference), [])
                place.append(_DataGain(data, gain, each, control))
    made = (_pool(*names, metric, of) for names, of in gains.items())
    return [each for each in made if each.summary is not None]


def _gains(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Iterator[tuple[str, Estimate]]:
    for row, difference in average_differences(study, columns, metric, split).items():
        # A gain of pooled folds, or of the seeds that chose it, has no error that could weigh it.
        if row != study.reference and not study.oracle(row) and not difference.barred:
            yield row, difference.estimate


def _domains(
    study: Study, data: DataSet, metric: str, split: str, row: str
) -> Iterator[Effect | str]:
    """The effects of single held-out domains; a name alone for one without a standard error."""
    for column, domain in zip(data.columns, data.held_out, strict=True):
        if len(data.columns) > 1:
            own = dict(_gains(study, [column], metric, split)).get(row)
            yield _effect(domain, own) or domain


def _pool(method: str, reference: str, metric: str, gains: Sequence[_DataGain]) -> Pooled:
    times = Counter(each.data.data for each in gains)
    left, effects = list[str](), list[Effect]()
    for each in gains:
        effect = _effect(each.data.name, each.gain)
        if each.data.shared or times[each.data.data] > 1 or effect is None:
            left.append(each.data.name)
        else:
            effects.append(effect)
    over: Over = "data sets"
    if len(gains) == 1 and gains[0].domains:
        over = "domains"
        effects = [each for each in gains[0].domains if isinstance(each, Effect)]
        left = [each for each in gains[0].domains if isinstance(each, str)]
    summary = random_effects(
        [effect.estimate.mean or 0.0 for effect in effects], [e.error for e in effects]
    )
    control = any(each.control for each in gains)
    names = tuple(dict.fromkeys(left))
    return Pooled(method, reference, metric, over, tuple(effects), summary, names, control)


def _effect(name: str, gain: Estimate | None) -> Effect | None:
    """None for a gain without a standard error."""
    if gain is None or gain.mean is None or gain.variance is None or gain.variance.total <= 0:
        return None
    return Effect(name, gain, gain.variance.total**0.5, not gain.variance.tested)
