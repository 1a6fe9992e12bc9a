"""What a reader must know of a verdict: how it was reached, and what would make it surer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from medldr.evaluation.comparison.comparison import Comparison, Difference, Family
from medldr.evaluation.comparison.findings import ALPHA
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.domain_gap import spoken


def caveats(study: Study, columns: Sequence[Column], metric: str, split: str) -> list[str]:
    """One sentence or more on the tests, and on what would narrow their intervals."""
    there = [column.comparison for column in columns if column.comparison is not None]
    tests = [len(_tested(c, "reference", split, metric)) for c in there]
    pairs = [len(_tested(c, "asked", split, metric)) for c in there]
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
    for difference in _tested(found, "reference", split, metric):
        variance = difference.estimate.variance
        share = None if variance is None else variance.share_of_seeds
        if share is not None:
            yield share


def _tested(found: Comparison, family: Family, split: str, metric: str) -> list[Difference]:
    """The comparisons of a column that Holm's correction counted."""
    place = family, split, None, metric
    return [
        d
        for d in found.differences
        if (d.family, d.split, d.domain, d.metric) == place and d.p_holm is not None
    ]


def _most(counts: Sequence[int]) -> str:
    return str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
