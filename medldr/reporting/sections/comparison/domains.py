"""Methods in each domain, and what each loses on the way from seen to unseen ones."""

from __future__ import annotations

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.sections.comparison.tables import domain_table, gap_table


def domains(found: Comparison) -> Section | None:
    """The section of the page; None without domains."""
    by_domain, gaps = domain_table(found), gap_table(found)
    if by_domain is None and gaps is None:
        return None
    made = Section("domains", "Domains", "Domains")
    text = (
        "A domain is a source of images, such as a hospital or a scanner. No training image came "
        "from an unseen one."
    )
    made.add(Paragraph(text), by_domain)
    if gaps is not None:
        text = (
            "How much is lost on the way from seen to unseen domains; for accuracy and AUC, a "
            "smaller number means that the model travels better."
        )
        made.add(Paragraph(text), gaps)
    return made
