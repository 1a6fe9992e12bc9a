"""The reporting checklist of one run: each topic with what its files say, and what is left open."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.folders.privacy import hide_ids
from medldr.reporting.document import Document, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.checklist_facts import known_facts
from medldr.reporting.table import DASH, Cell, Row, Table
from medldr.types import SPLIT_TITLES

PLACE = re.compile(r"\{([\w.]+)(?::([^}]*))?\}")
"""A place of a sentence: a fact or, with dots, a field of one, and how it is printed."""


@cache
def template() -> dict[str, Any]:
    """The fixed words of the checklist."""
    path = Path(__file__).parents[1] / "templates" / "checklist.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def checklist_page(files: RunFiles) -> Document:
    """The checklist of one run: a section for each part of a paper."""
    words = template()
    facts = known_facts(files, words["sentences"])
    about = f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}"
    how = [Paragraph(words["lead"], "lead"), Paragraph(words["remark"])]
    sections = [Section("about", "How to use this page", "How to use", list(how))]
    for part in words["parts"]:
        table = Table(part["title"], list(words["columns"]), texts=(1, 2), intervals=False)
        for item in part["items"]:
            texts = (known(item.get("known", ()), facts), item["authors"])
            cells = [Cell(hide_ids(text, files.ids) or DASH, style="wide") for text in texts]
            table.rows.append(Row(item["topic"], cells))
        sections.append(Section(part["anchor"], part["title"], part["short"], [table]))
    title = f"{words['title']}: {about}"
    return Document(title, words["kicker"], files.name, sections=sections)


def known(sentences: list[str] | tuple[str, ...], facts: Mapping[str, Any]) -> str:
    """The sentences of an item of which every fact is known.

    Example:
        >>> known(["Seed {seed}.", "Taken in {card.dates}."], {"seed": "0", "card": {}})
        'Seed 0.'
    """
    placed = [(text, PLACE.findall(text)) for text in sentences]
    whole = [(text, of) for text, of in placed if all(fact(path, facts) for path, _ in of)]
    # A sentence about nothing known says nothing of this run.
    if not any(of for _, of in whole) and any(of for _, of in placed):
        return ""
    told = (PLACE.sub(lambda m: _shown(fact(m[1], facts), m[2] or ""), text) for text, _ in whole)
    return " ".join(re.sub(r"([.!?])\.$", r"\1", text) for text in told)


def fact(path: str, facts: Mapping[str, Any]) -> Any:
    """A fact, or a field of one; None where it is unknown.

    Example:
        >>> fact("record.seed", {"record": {"seed": 4}}), fact("record.hash", {"record": None})
        ('4', None)
    """
    held: Any = facts
    for name in path.split("."):
        held = held.get(name) if isinstance(held, Mapping) else getattr(held, name, None)
    return str(held) if type(held) is int else held  # seed 0 is known


def _shown(value: Any, how: str) -> str:
    if isinstance(value, Mapping):
        named = ((SPLIT_TITLES[k].lower() if k in SPLIT_TITLES else k, v) for k, v in value.items())
        return "; ".join(f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}" for k, v in named if v)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return format(value, how)
