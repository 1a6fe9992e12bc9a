"""What a reader must know of a verdict: how it was reached, and how far to trust few seeds."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.records import Contrast, Score
from medldr.metrics import PERCENT, measure
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column

ALPHA = 0.05
"""Below it a corrected p counts as a difference."""
CHANCE = {2: 35, 3: 18, 4: 14}
"""Per cent of comparisons of equal methods with an uncorrected p below `ALPHA`, by seeds a row, if
nothing but the seed makes results differ. Draws of so few seeds spread too little.

Source:
    Our simulation of normal results with `medldr.evaluation.intervals`, which a test repeats.
"""


def spoken(metric: str) -> str:
    """A measure within a sentence.

    Example:
        >>> spoken("accuracy"), spoken("auc")
        ('accuracy', 'AUC')
    """
    title = measure(metric).title
    return title if title.isupper() else title.lower()


def caveats(study: Study, columns: Sequence[Column], metric: str, split: str) -> list[str]:
    """One sentence or more on the tests, and where there are few seeds on these."""
    return [_tests(study, columns, metric, split), *_seeds(columns)]


def _tests(study: Study, columns: Sequence[Column], metric: str, split: str) -> str:
    there = [column.comparison for column in columns if column.comparison is not None]
    tests = [_count(c.scores, split, metric) for c in there]
    pairs = [_count(c.contrasts, split, metric) for c in there]
    text = (
        f"A difference counts as shown where its p is below {ALPHA:g} after Holm's correction over "
        f"the comparisons of its column ({_most(tests)} with {study.reference}"
        + (f", and by themselves {_most(pairs)} chosen pairs" if any(pairs) else "")
        + "); these are the p given here. Intervals are not corrected, so that one may leave out "
        f"zero although the difference is undecided. Undecided does not mean equal. Only "
        f"{spoken(metric)} is judged here; other measures are in the tables."
    )
    draws = min(c.intervals.draws for c in there if c.intervals is not None)
    if 2 / (draws + 1) * max(tests) >= ALPHA:
        text += f" With {draws} bootstrap draws no corrected p can be that small."
    if len(columns) > 1:
        text += f" The correction does not count that there are {len(columns)} columns."
    return text


def _seeds(columns: Sequence[Column]) -> list[str]:
    there = [column.comparison for column in columns if column.comparison is not None]
    seeds = {len(method.seeds) for comparison in there for method in comparison.methods}
    texts = []
    if 1 in seeds:
        texts.append(
            "Rows with a single seed are not judged and have no p: their intervals speak of the "
            "trained networks at hand, and of no other seed."
        )
    few = min((seed for seed in seeds if seed in CHANCE), default=None)
    if few is not None:
        texts.append(
            f"With as few as {few} seeds a row intervals are too narrow and p too small: where "
            "results vary mostly with the seed, equal methods come out with an uncorrected p below "
            f"{ALPHA:g} in about {CHANCE[few]}{PERCENT} of comparisons, not in {100 * ALPHA:g}"
            f"{PERCENT}."
        )
    return texts


def _count(entries: Sequence[Score] | Sequence[Contrast], split: str, metric: str) -> int:
    """How many comparisons Holm's correction counted in a column."""
    return sum(
        e.difference is not None and e.difference.p is not None
        for e in entries
        if (e.split, e.domain, e.metric) == (split, None, metric)
    )


def _most(counts: Sequence[int]) -> str:
    return str(max(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
