"""The page of a comparison of finished runs."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.config.sections import dataset_name
from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.assembly import Parts, answered, assemble
from medldr.reporting.document import Document
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.comparison import parts
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
    found = parts.titled(found, files)
    sections: Parts = [
        ("result", lambda: parts.result(found)),
        ("metrics", lambda: parts.metrics(found)),
        ("domains", lambda: parts.domains(found)),
        ("published", lambda: parts.published(found, files)),
        ("curves", lambda: parts.curves(found, files)),
        ("runs", lambda: parts.runs(found)),
        ("notes", lambda: parts.numbers_made(found)),
    ]
    runs = count(sum(len(method.seeds) for method in found.methods), "run")
    sets = {dataset_name(each.config, each.facts): None for each in files.values()}
    sizes = ": ".join([*sets, f"{count(len(found.methods), 'method')}, {runs}"])
    return Document(
        title or " and ".join(found.names),
        "medldr · comparison of runs",
        f"{sizes}; differences are relative to {found.reference}",
        parts.banners(found, remark),
        assemble("comparison", sections),
        verdict=answered(lambda: parts.comparison_verdict(found, found.primary)),
    )
