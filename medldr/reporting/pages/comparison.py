"""The page of a comparison of finished runs."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Document
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.beside_published import beside_published
from medldr.reporting.sections.comparison.banners import banners, notes
from medldr.reporting.sections.comparison.differences import differences
from medldr.reporting.sections.comparison.domains import domains
from medldr.reporting.sections.comparison.result import result
from medldr.reporting.sections.comparison.runs import curves, glossary, runs
from medldr.reporting.sections.published.comparison import comparison_published

DEMONSTRATION = "A demonstration of the tool, not evidence for the method."


def comparison_page(
    found: Comparison, title: str, remark: str | None, files: Mapping[str, RunFiles]
) -> Document:
    """The page of a comparison.

    Args:
        found: The comparison.
        title: The title of the page.
        remark: A banner at its top, such as `DEMONSTRATION`.
        files: The run folders that are known, by name, for curves and published numbers.
    """
    common, found = found.short_names()
    sections = (
        result(found),
        notes(found),
        differences(found),
        domains(found),
        beside_published(comparison_published(found, files)),
        curves(found, files),
        runs(found),
        glossary(found),
    )
    return Document(
        title=title,
        kicker="medldr · comparison of runs",
        subtitle=_subtitle(found, common),
        banners=banners(found, remark),
        sections=[section for section in sections if section is not None],
    )


def _subtitle(found: Comparison, common: str) -> str:
    runs, methods = sum(len(m.seeds) for m in found.methods), len(found.methods)
    text = f"{methods} method{'' if methods == 1 else 's'}, {runs} run{'' if runs == 1 else 's'}"
    text = f"{common}: {text}" if common else text
    return f"{text}; differences are to {found.reference}"
