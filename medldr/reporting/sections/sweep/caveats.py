"""What a reader must know of a verdict: how it was reached, and how far to trust few seeds."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.records import Contrast, Score
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.domain_gap import spoken

ALPHA = 0.05
"""Below it a corrected p counts as a difference."""
CHANCE = {2: 35, 3: 18, 4: 14}
"""Per cent of comparisons of equal methods with an uncorrected p below `ALPHA`, by seeds a row, if
nothing but the seed makes results differ. Draws of so few seeds spread too little.

Source:
    Our simulation of normal results with `medldr.evaluation.intervals`, which a test repeats.
"""


def caveats(study: Study, columns: Sequence[Column], metric: str, split: str) -> list[str]:
    """One sentence or more on the tests, and where there are few seeds on these."""
    there = [column.comparison for column in columns if column.comparison is not None]
    tests = [_count(c.scores, split, metric) for c in there]
    pairs = [_count(c.contrasts, split, metric) for c in there]
    more = sentence("chosen_pairs", pairs=_most(pairs)) if any(pairs) else ""
    about = {"reference": study.reference, "metric": spoken(metric), "alpha": ALPHA}
    text = sentence("tests", tests=_most(tests), pairs=more, **about)
    draws = min(c.intervals.draws for c in there if c.intervals is not None)
    if 2 / (draws + 1) * max(tests) >= ALPHA:
        text += f" {sentence('few_draws', draws=draws)}"
    if len(columns) > 1:
        text += f" {sentence('several_columns', columns=len(columns))}"
    seeds = {len(method.seeds) for comparison in there for method in comparison.methods}
    texts = [text, *([sentence("single_seed_rows")] if 1 in seeds else [])]
    if few := seeds.intersection(CHANCE):
        found, expected = (f"{n:g}%" for n in (CHANCE[min(few)], 100 * ALPHA))
        numbers = {"seeds": min(few), "alpha": ALPHA, "found": found, "expected": expected}
        texts.append(sentence("few_seeds", **numbers))
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
