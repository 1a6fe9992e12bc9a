"""The runs behind each row, their learning curves, and what the metrics mean."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.comparison.comparison import Comparison
from medldr.metrics import MEASURES
from medldr.reporting.document import Figures, Pairs, Paragraph, Section
from medldr.reporting.figures.overlays import overlay_figures
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.comparison.tables import main_metrics, runs_table


def curves(found: Comparison, files: Mapping[str, RunFiles]) -> Section | None:
    """Learning curves of all methods; None where none were logged.

    Args:
        found: The comparison.
        files: The run folders that are known, by name.
    """
    logs = {m.name: [files[run].log for run in m.runs if run in files] for m in found.methods}
    drawings = overlay_figures(logs)
    return Section("curves", "Learning curves", "Curves", [Figures(drawings)]) if drawings else None


def runs(found: Comparison) -> Section:
    """The section of the page."""
    text = "“As reference” says whether a row followed the same protocol as the reference."
    return Section("runs", "Runs", "Runs", [runs_table(found), Paragraph(text, "small")])


def glossary(found: Comparison) -> Section | None:
    """What each metric of the page means."""
    shown = {metric for split in found.splits for metric in main_metrics(found, split)}
    pairs = [(known.title, known.meaning) for key, known in MEASURES.items() if key in shown]
    block = Pairs(pairs, glossary=True)
    return Section("glossary", "How to read the numbers", "Glossary", [block]) if pairs else None
