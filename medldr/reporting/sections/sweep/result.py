"""The result of a sweep: its verdict and its grids."""

from __future__ import annotations

from medldr.metrics import MEASURES
from medldr.reporting.document import Bullets, Paragraph, Section
from medldr.reporting.sections.comparison.parts import interval_words
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.verdict import verdict

CALIBRATION = ("ece", "brier", "nll")
WORST = "worst_group"


def result(results: Results) -> Section:
    """The verdict and the grids."""
    section = Section("result", "Result", "Result")
    first = next((c.comparison for c in results.columns if c.comparison is not None), None)
    words = "" if first is None else interval_words(first)
    if len(results.columns) > 1 and results.averaged:
        words += (
            f" The average is the plain mean over the {'columns' if results.held_out else 'sets'}, "
            "of rows that have every run in all of them; it has no interval."
        )
    words += (
        " The best number of a column is bold and the second best underlined, as printed, among "
        "rows that are neither controls nor chosen by an oracle, nor have fewer runs than others."
    )
    leads = ["No run has a result yet."]
    if results.splits:
        leads = verdict(results.study, results.columns, results.metrics[0], results.splits[0])
    section.add(Bullets(leads, "verdict"))
    section.add(*results.grids("mean over seeds", results.metrics))
    section.add(Paragraph(words.strip(), "small"))
    return section


def calibration(results: Results) -> Section:
    """Grids of calibration."""
    section = Section("calibration", "Behind the accuracy: calibration", "Calibration")
    tables = results.grids("calibration", CALIBRATION)
    if tables:
        section.add(
            Paragraph("Whether stated probabilities can be taken at their word: lower is better."),
            *tables,
        )
    return section


def worst_group(results: Results) -> Section:
    """Grids of the worst group; empty where no run has one, or the main grids show it already."""
    section = Section("groups", "Behind the accuracy: the worst group", "Groups")
    tables = []
    if WORST not in results.metrics:
        tables = results.grids("worst group", [WORST], needed=True)
    if tables:
        section.add(
            Paragraph(
                "A group is what images belong together, such as a slide or a patient. Each run "
                "has its own worst one, and the numbers are means over seeds."
            ),
            *tables,
            Paragraph(MEASURES[WORST].meaning, "small"),
        )
    return section
