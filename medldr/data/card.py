"""A data card: what only people know of a data set, from a YAML file that they fill.

Where the images come from, who was included, who made the labels. Every entry is optional, and
entries of another name are kept as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medldr.config.yaml import plain, read_named_yaml
from medldr.errors import InputError

TEMPLATE = Path(__file__).with_name("card.yaml")
"""The file to fill, with a comment on what belongs into each entry."""


def card_template() -> str:
    """A data card to fill.

    Example:
        >>> "reference_standard:" in card_template()
        True
    """
    return TEMPLATE.read_text(encoding="utf-8")


def read_card(path: Path) -> dict[str, Any]:
    """Read a data card.

    Returns:
        Its filled entries in their order: a text, a number, a list of these, or a mapping of names
        to these.

    Raises:
        InputError: If it cannot be read, nests deeper, or fills in nothing.
    """
    try:
        values = plain(read_named_yaml(path).values)
    except InputError as error:
        raise InputError(f"data.card: {error}") from error
    filled = {key: value for key, value in values.items() if not _is_blank(value)}
    for value in filled.values():
        parts = value.values() if isinstance(value, dict) else [value]
        items = [item for part in parts for item in (part if isinstance(part, list) else [part])]
        if any(isinstance(item, dict | list) for item in items):
            raise InputError(
                f"data.card: {path}: an entry nests too deeply. Write a text, a list of texts, or "
                "names with a text each"
            )
    if not filled:
        raise InputError(
            f"data.card: {path} fills in nothing. Write at least one entry, such as source"
        )
    return filled


def _is_blank(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_blank, value.values()))
    return value is None or value == [] or (isinstance(value, str) and not value.strip())
