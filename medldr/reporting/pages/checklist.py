"""The reporting checklist of one run, filled with what its files say."""

from __future__ import annotations

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.reporting.document import Document, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.checklist import checklist, template


def checklist_page(files: RunFiles) -> Document:
    """The checklist of one run."""
    words = template()
    about = f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}"
    how = [Paragraph(words["lead"], "lead"), Paragraph(words["remark"])]
    first = Section("about", "How to use this page", "How to use", list(how))
    return Document(
        f"{words['title']}: {about}",
        words["kicker"],
        files.name,
        sections=[first, *checklist(files)],
    )
