"""The page of a comparison of finished runs."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Document
from medldr.reporting.prose import section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.comparison import parts
from medldr.reporting.sections.published.fixed_split import comparison_published
from medldr.reporting.sections.rows import count

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
        parts.result(found),
        parts.notes(found),
        parts.differences(found),
        parts.domains(found),
        section("run", "published", comparison_published(found, files)),
        parts.curves(found, files),
        parts.runs(found),
        parts.glossary(found),
    )
    return Document(
        title,
        "medldr · comparison of runs",
        _subtitle(found, common),
        parts.banners(found, remark),
        [made for made in sections if made is not None],
    )


def _subtitle(found: Comparison, common: str) -> str:
    runs = count(sum(len(method.seeds) for method in found.methods), "run")
    methods = count(len(found.methods), "method")
    size = f"{methods}, {runs}; differences are relative to {found.reference}"
    return f"{common}: {size}" if common else size
