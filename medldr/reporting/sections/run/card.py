"""The data card: what the user says of where the data come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.reporting.document import Pairs, Paragraph, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles


def card(files: RunFiles) -> Section | None:
    """The entries of the data card; without one, how to add it to a run that was evaluated."""
    entries = card_entries(files)
    if not entries:
        how = None if files.evaluation is None else Paragraph(sentence("no_card"), "small")
        return section("run", "card", how)
    return section("run", "card", Pairs(list(entries.items())))


def card_entries(files: RunFiles) -> dict[str, str]:
    """Each filled entry as text, by its name in words; without ids."""
    data = files.facts.get("data")
    found = data.get("card") if isinstance(data, Mapping) else None
    filled = found if isinstance(found, Mapping) else {}
    return {spoken_key(str(key)): _text(value) for key, value in filled.items()}


def spoken_key(key: str) -> str:
    """The name of an entry in words.

    Example:
        >>> spoken_key("reference_standard")
        'Reference standard'
    """
    words = key.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else " ".join(str(value).split())
