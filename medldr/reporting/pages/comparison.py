"""The page of a comparison of finished runs."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Document
from medldr.reporting.prose import section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.comparison import parts
from medldr.reporting.sections.published import comparison_published
from medldr.reporting.sections.rows import count

DEMONSTRATION = "A demonstration of the tool, not evidence for the method."


def comparison_page(
    found: Comparison, title: str | None, remark: str | None, files: Mapping[str, RunFiles]
) -> Document:
    """The page of a comparison.

    Args:
        found: The comparison.
        title: The title of the page; None: made of the methods' titles.
        remark: A banner at its top, such as `DEMONSTRATION`.
        files: The run folders that are known, by name, for titles, curves and published numbers.
    """
    common, found = parts.titled(found, files)
    sections = (
        parts.result(found),
        parts.metrics(found),
        parts.domains(found),
        section("comparison", "published", comparison_published(found, files)),
        parts.curves(found, files),
        parts.runs(found),
        parts.numbers_made(found),
    )
    runs = count(sum(len(method.seeds) for method in found.methods), "run")
    size = f"{count(len(found.methods), 'method')}, {runs}"
    return Document(
        title or " and ".join(found.names),
        "medldr · comparison of runs",
        f"{common}: {size}; differences are relative to {found.reference}".removeprefix(": "),
        parts.banners(found, remark),
        [made for made in sections if made is not None],
        verdict=parts.comparison_verdict(found, found.primary),
    )
