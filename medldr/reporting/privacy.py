"""No file name, item id or group name of a patient reaches a page.

Tables and figures never hold ids. Free text might: notes on the data, the command line, values
of the configuration. Words in it that are ids or group names of this run are replaced.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

HIDDEN = "[hidden id]"
ID_KEYS = ("exclude",)
"""Keys of the configuration whose values are ids."""

_WORD = re.compile(r"[^\s,;:=\"'`()\[\]{}<>]+")


def read_ids(predictions: Path) -> frozenset[str]:
    """Ids and group names in `predictions.csv`; empty where there is no such file.

    Short numbers are left out: as words of a text they are counts far more often than ids.
    """
    if not predictions.is_file():
        return frozenset()
    found: set[str] = set()
    with predictions.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.update(row[key] for key in ("id", "group") if row.get(key))
    return frozenset(name for name in found if len(name) > 5 or not name.isdigit())


def hide_ids(text: str, ids: Collection[str]) -> str:
    """Replace every word of a text that is an id, also as the last part of a path.

    Example:
        >>> hide_ids("constant image: scans/anna_ct.nii (row 3)", {"anna_ct.nii"})
        'constant image: [hidden id] (row 3)'
    """
    if not ids:
        return text

    def replace(match: re.Match[str]) -> str:
        word = match[0]
        names = {word, word.rstrip(".!?"), word.rsplit("/", 1)[-1], word.rsplit("\\", 1)[-1]}
        return HIDDEN if any(name in ids for name in names) else word

    spaced = [name for name in ids if _WORD.fullmatch(name) is None and name in text]
    for name in sorted(spaced, key=len, reverse=True):
        text = text.replace(name, HIDDEN)
    return _WORD.sub(replace, text)


def hide_in_config(config: Mapping[str, Any], ids: Collection[str]) -> dict[str, Any]:
    """The same configuration without ids: lists of ids become a count.

    Example:
        >>> hide_in_config({"data": {"exclude": ["p7", "p9"], "name": "table"}}, ())
        {'data': {'exclude': '2 ids, hidden', 'name': 'table'}}
    """

    def clean(key: str, value: Any) -> Any:
        if key in ID_KEYS and isinstance(value, list | tuple):
            return f"{len(value)} id{'' if len(value) == 1 else 's'}, hidden" if value else []
        if isinstance(value, Mapping):
            return {str(k): clean(str(k), v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [clean("", v) for v in value]
        return hide_ids(value, ids) if isinstance(value, str) else value

    return {str(key): clean(str(key), value) for key, value in config.items()}


def hide_in_command(words: list[str], ids: Collection[str]) -> list[str]:
    """The command line without ids.

    Example:
        >>> hide_in_command(["train", "data.exclude=[p7,p9]", "seed=1"], ())
        ['train', 'data.exclude=[hidden id]', 'seed=1']
    """
    clean = []
    for word in words:
        key, equals, _ = word.partition("=")
        if equals and key.rsplit(".", 1)[-1] in ID_KEYS:
            clean.append(f"{key}={HIDDEN}")
        else:
            clean.append(hide_ids(word, ids))
    return clean
