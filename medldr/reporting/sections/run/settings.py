"""The settings of a run: first what differs from the defaults."""

from __future__ import annotations

from medldr.reporting.document import Folded, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.settings import as_yaml, changes, show
from medldr.reporting.table import Cell, Row, Table


def settings(files: RunFiles) -> Section:
    """The section of the page."""
    found = Section("settings", "Settings", "Settings")
    changed, problem = changes(files)
    if changed:
        table = Table(
            "Settings that differ from their defaults", ["Setting", "Here", "Default"], code=True
        )
        for change in changed:
            cells = [Cell(show(change.value)), Cell(show(change.default))]
            table.rows.append(Row(change.key, cells))
        found.add(table)
    else:
        found.add(Paragraph(problem or "Every setting has its default."))
    text = as_yaml(files.config) if files.config else "config.yaml is absent."
    found.add(Folded("All settings, as resolved", text))
    return found
