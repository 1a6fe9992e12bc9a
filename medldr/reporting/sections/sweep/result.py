"""The result of a sweep: its verdict and its grids."""

from __future__ import annotations

from medldr.metrics import METRICS
from medldr.reporting.document import Bullets, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.sections.comparison.parts import interval_words
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.verdict import verdict

CALIBRATION = ("ece", "brier", "nll")
WORST = "worst_group"


def result(results: Results) -> Section | None:
    """The verdict and the grids."""
    first = next((c.comparison for c in results.columns if c.comparison is not None), None)
    words = [] if first is None else [interval_words(first)]
    if len(results.columns) > 1 and results.averaged:
        columns = "columns" if results.held_out else "sets"
        words.append(sentence("average", columns=columns))
    words.append(sentence("best"))
    leads = ["No run has a result yet."]
    if results.splits:
        leads = verdict(results.study, results.columns, results.metrics[0], results.splits[0])
    grids = results.grids("mean over seeds", results.metrics)
    made = Paragraph(" ".join(filter(None, words)), "small")
    return section("sweep", "result", Bullets(leads, "verdict"), *grids, made)


def calibration(results: Results) -> Section | None:
    """Grids of calibration."""
    return section("sweep", "calibration", *results.grids("calibration", CALIBRATION))


def worst_group(results: Results) -> Section | None:
    """Grids of the worst group; None where no run has one, or the main grids show it already."""
    if WORST in results.metrics:
        return None
    grids = results.grids("worst group", [WORST], needed=True)
    return section("sweep", "groups", *grids, meaning=METRICS[WORST].meaning)
