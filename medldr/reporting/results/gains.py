"""Where a method helps: its gain over the reference in every domain that was tested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.split_scores import DOMAIN_METRICS
from medldr.metrics import metric_facts
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.data_sets import DataSet, data_sets

SEEN = "id_test"


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
