"""A reporting checklist: each topic with what a run says of it, and what is left to the authors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from medldr.folders.privacy import hide_ids
from medldr.reporting.document import Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.checklist_facts import known_facts
from medldr.reporting.table import DASH, Cell, Row, Table

_PLACE = re.compile(r"\{(\w+)\}")


@cache
def template() -> dict[str, Any]:
    """The fixed words of the checklist."""
    path = Path(__file__).parents[1] / "templates" / "checklist.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def checklist(files: RunFiles) -> Iterator[Section]:
    """A section for each part of a paper."""
    words = template()
    facts = known_facts(files, words["sentences"])
    for part in words["parts"]:
        table = Table(part["title"], list(words["columns"]), texts=(1, 2), intervals=False)
        for item in part["items"]:
            said = known(item.get("known", ()), facts)
            cells = [
                Cell(hide_ids(text, files.ids) or DASH, style="wide")
                for text in (said, item["authors"])
            ]
            table.rows.append(Row(item["topic"], cells))
        yield Section(part["anchor"], part["title"], part["short"], [table])


def known(sentences: list[str] | tuple[str, ...], facts: Mapping[str, str]) -> str:
    """The sentences of an item of which every fact is known.

    Example:
        >>> known(["Seed {seed}.", "Taken in {dates}."], {"seed": "0", "dates": ""})
        'Seed 0.'
    """
    whole = [s for s in sentences if all(facts.get(name) for name in _PLACE.findall(s))]
    # A sentence about nothing known says nothing of this run.
    told = whole if any(_PLACE.search(s) for s in whole) or not _has_places(sentences) else []
    texts = (_PLACE.sub(lambda match: facts[match[1]], s) for s in told)
    return " ".join(re.sub(r"([.!?])\.$", r"\1", text) for text in texts)


def _has_places(sentences: list[str] | tuple[str, ...]) -> bool:
    return any(_PLACE.search(sentence) for sentence in sentences)
