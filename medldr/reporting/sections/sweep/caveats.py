"""What a reader must know of a verdict: how it was reached, and what would make it surer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.comparison.records import Contrast, Score
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.ranks import ALPHA
from medldr.reporting.sections.domain_gap import spoken

ENOUGH = 3
"""Fewer seeds say next to nothing of how much results vary between them."""


def caveats(study: Study, columns: Sequence[Column], metric: str, split: str) -> list[str]:
    """One sentence or more on the tests, and on what would narrow their intervals."""
    there = [column.comparison for column in columns if column.comparison is not None]
    tests = [_count(c.scores, split, metric) for c in there]
    pairs = [_count(c.contrasts, split, metric) for c in there]
    more = sentence("chosen_pairs", pairs=_most(pairs)) if any(pairs) else ""
    about = {"reference": study.reference, "metric": spoken(metric), "alpha": ALPHA}
    text = sentence("tests", tests=_most(tests), pairs=more, **about)
    if len(columns) > 1:
        text += f" {sentence('several_columns', columns=len(columns))}"
    seeds = {len(method.seeds) for comparison in there for method in comparison.methods}
    shares = [share for found in there for share in _shares(found, split, metric)]
    texts = [text] if any(tests) or any(pairs) else []
    if shares:
        share = fmean(shares)
        what = "seeds" if share > 0.5 else "test images"
        texts.append(sentence("narrower", share=share, what=what))
    texts += [sentence("single_seed_rows")] if 1 in seeds else []
    return texts + ([sentence("two_seeds")] if 2 in seeds else [])


def _shares(found: Comparison, split: str, metric: str) -> Iterator[float]:
    """Share of the seeds in the variance of each difference whose methods have seeds enough."""
    seeds = {method.name: len(method.seeds) for method in found.methods}
    for score in found.scores:
        if (score.split, score.domain, score.metric) != (split, None, metric):
            continue
        difference = score.difference
        if difference is None or difference.p_holm is None or difference.share_of_seeds is None:
            continue
        if min(seeds[score.method], seeds.get(found.reference, 0)) >= ENOUGH:
            yield difference.share_of_seeds


def _count(entries: Sequence[Score] | Sequence[Contrast], split: str, metric: str) -> int:
    """How many comparisons Holm's correction counted in a column."""
    return sum(
        e.difference is not None and e.difference.p_holm is not None
        for e in entries
        if (e.split, e.domain, e.metric) == (split, None, metric)
    )


def _most(counts: Sequence[int]) -> str:
    return str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
