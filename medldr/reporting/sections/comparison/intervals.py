"""How the intervals of a comparison were made, in words."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison
from medldr.metrics import PERCENT


def interval_words(found: Comparison) -> str:
    """How the intervals of a comparison were made."""
    made = found.intervals
    if made is None:
        return ""
    return (
        f"Large numbers are means over seeds, SD their spread. Small numbers are "
        f"{100 * made.level:g}{PERCENT} intervals: {made.method}, {made.draws:,} draws, each "
        "resampling the seeds and the test groups (images where "
        "there are none), the same groups for every method. Differences are paired: both methods "
        "are judged in the same draws. p is two-sided, from the same draws; Holm's correction is "
        "over the methods of one column."
    )
