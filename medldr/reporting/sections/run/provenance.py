"""What is needed to make a run's numbers again: its settings, and everything in `run.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.reporting.document import Folded, Heading, Pairs, Paragraph, Section
from medldr.reporting.prose import section, words
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.settings import as_yaml, changes, show
from medldr.reporting.sections.rows import count
from medldr.reporting.table import DASH, Cell, Row, Table

LEFT_OUT = {"notes", "error", "selection", "path", "card"}
MOST = 12


def settings(files: RunFiles) -> Section | None:
    """The settings of a run: first what differs from the defaults."""
    changed, problem = changes(files)
    table = Table(
        "Settings that differ from their defaults", ["Setting", "Here", "Default"], code=True
    )
    for change in changed:
        table.rows.append(Row(change.key, [Cell(show(change.value)), Cell(show(change.default))]))
    first = table if changed else Paragraph(problem or "All settings have their default values.")
    text = as_yaml(files.config) if files.config else "config.yaml is missing."
    return section("run", "settings", first, Folded("All settings, as resolved", text))


def provenance(files: RunFiles) -> Section | None:
    """The facts of `run.json` in groups."""
    groups = provenance_groups(files.facts)
    blocks = [block for title, pairs in groups for block in (Heading(title), Pairs(pairs))]
    return section("run", "provenance", *blocks)


def provenance_groups(facts: Mapping[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The facts of `run.json` in groups with titles, also those that are unknown here."""
    titles, terms = words("facts"), words("terms")
    groups: dict[str, list[tuple[str, str]]] = {name: [] for name in titles}

    def add(group: str, key: str, value: Any) -> None:
        if key in LEFT_OUT:
            return
        if key == "files" and isinstance(value, Mapping):
            groups.setdefault(group, []).append(("files", _checksums(value)))
        elif isinstance(value, Mapping):
            target = key if key in titles or group == "run" else group
            for inner, item in value.items():
                add(target, str(inner) if target == key else f"{key}: {inner}", item)
        else:
            term = terms.get(key, key.replace("_", " "))
            groups.setdefault(group, []).append((term, _text(key, value)))

    for key, value in facts.items():
        add("run", str(key), value)
    return [
        (titles.get(name, name.replace("_", " ").capitalize()), pairs)
        for name, pairs in groups.items()
        if pairs
    ]


def _checksums(files: Mapping[str, Any]) -> str:
    # Names stay out: on somebody's own scans they may be those of patients.
    number, shown = count(len(files), "file"), ", ".join(map(str, files.values()))
    return f"{number}, checksum {shown}" if 0 < len(files) <= 3 else number


def _text(key: str, value: Any) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if key == "command":
            return " ".join(map(str, value))
        more = len(value) - MOST
        texts = ", ".join(show(item) for item in value[:MOST]) or "none"
        return f"{texts} and {more} more" if more > 0 else texts
    return f"{value:.6g}" if isinstance(value, float) else str(value)
