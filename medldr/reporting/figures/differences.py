"""Paired differences to the reference, one below the other."""

from __future__ import annotations

from collections.abc import Iterator

from medldr.evaluation.comparison.comparison import Comparison, Score
from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Drawing
from medldr.reporting.figures.forest import Whisker, forest_figure

BETTER = {"higher": "right of the line is better", "lower": "left of the line is better"}


def difference_figure(
    found: Comparison, metric: str = "accuracy", column: str = "", number: int = 0
) -> Drawing | None:
    """Every method minus the reference on every split and domain; None for a single method.

    Args:
        found: The comparison.
        metric: The measure.
        column: Title of the column of a sweep that this comparison is; its figures leave out
            single domains, and say of a split only whether it was seen.
        number: Number of that column, from 1, which keeps names apart on one page.
    """
    rows = [
        Whisker(_label(found, score, column), value.mean, value.low, value.high, accent=unseen)
        for score, unseen in _scores(found, metric, domains=not column)
        if score.difference is not None and (value := score.difference.estimate).mean is not None
    ]
    known = measure(metric)
    unit = ", points of per cent" if known.percent else ""
    return forest_figure(
        f"difference-{metric.replace('_', '-')}{f'-{number}' if number else ''}",
        rows,
        title=f"{f'{column}, ' if column else ''}{known.title}: difference to {found.reference}",
        caption="Each row is one paired difference with its 95 % interval; "
        f"{BETTER.get(known.better, 'the line is no difference')}, and an "
        "interval that crosses it is compatible with no difference.",
        xlabel=f"difference{unit}",
        factor=100.0 if known.percent else 1.0,
        reference=0.0,
        legend=("seen in training", "unseen") if any(row.accent for row in rows) else None,
        label_limit=44,
    )


def _scores(found: Comparison, metric: str, *, domains: bool) -> Iterator[tuple[Score, bool]]:
    """Scores in the order of rows, and whether each is of unseen domains."""
    for split, about in found.splits.items():
        single = list(about.domains) if domains and len(about.domains) > 1 else []
        for domain in [None, *single]:
            for method in found.others:
                score = found.score(split, metric, method.name, domain)
                if score is not None:
                    yield score, score.seen is False if domain else bool(found.unseen(split))


def _label(found: Comparison, score: Score, column: str) -> str:
    if column:
        several = len(found.splits) > 1
        title = f", {SPLIT_TITLES.get(score.split, score.split)}" if several else ""
        return f"{score.method}{title}"
    title = found.title(score.split) if score.domain is None else f"  {score.domain}"
    return title if len(found.others) == 1 else f"{score.method}, {title.strip()}"
