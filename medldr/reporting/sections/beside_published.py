"""The section of published numbers, on the page of a run and on that of a comparison."""

from __future__ import annotations

from medldr.reporting.document import Paragraph, Section
from medldr.reporting.table import Table


def beside_published(table: Table | None) -> Section | None:
    """Ours beside published numbers; None where nothing was published.

    Args:
        table: The numbers.
    """
    if table is None:
        return None
    text = (
        "Beside numbers that others have published for this data set. They can be compared "
        "directly only where the protocol is the same."
    )
    return Section("published", "Published numbers", "Published", [Paragraph(text), table])
