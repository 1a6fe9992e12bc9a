"""Accuracy of each group, where a run was asked to score groups.

Groups may be patients. Their names stand in `evaluation.json`, and so on a page, only where
`evaluation.per_group` was set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table

MOST = 100
"""A page shows no more groups than this, the lowest first; `evaluation.json` has all."""


def group_table(split: Mapping[str, Any]) -> Table | None:
    """Groups of a split with their size, the lowest accuracy first; None without any.

    Args:
        split: An entry of `evaluation.json`'s splits.
    """
    groups: Mapping[str, Any] = split.get("groups") or {}
    if not groups:
        return None
    told = any(entry.get("domain") for entry in groups.values())
    table = Table(
        "Accuracy of each group, lowest first",
        ["Group", *(["Domain"] if told else []), "Images", measure("accuracy").heading],
        texts=(1,) if told else (),
    )
    worst = (split.get("worst_group") or {}).get("name")
    for name in sorted(groups, key=lambda name: _rank(name, groups[name]))[:MOST]:
        entry = groups[name]
        cells = [Cell(entry.get("domain") or "–")] if told else []
        cells.append(Cell(f"{entry['n']:,}", value=float(entry["n"])))
        number = {"value": entry["accuracy"], "reason": "no label is known"}
        known = {**number, "reason": None} if entry["accuracy"] is not None else number
        cells.append(table.number("accuracy", known))
        tags, style = (("worst",), "worst") if name == worst else ((), "")
        table.rows.append(Row(name, cells, tags=tags, style=style))
    if len(groups) > MOST:
        table.notes.append(f"The {MOST} lowest of {len(groups):,} groups; evaluation.json has all.")
    return table


def _rank(name: str, entry: Mapping[str, Any]) -> tuple[bool, float, str]:
    accuracy = entry["accuracy"]
    return (accuracy is None, 0.0 if accuracy is None else accuracy, name)


def worst_group_text(split: Mapping[str, Any]) -> str:
    r"""The worst group in a sentence; empty without one.

    Example:
        >>> worst_group_text({"worst_group": {"name": "slide_21", "n": 40,
        ...                   "accuracy": {"value": 0.5}}, "groups": {"slide_21": {}}})
        'The worst one is slide_21 (40 images), with an accuracy of 50.0\xa0%.'
    """
    worst = split.get("worst_group")
    if not worst:
        return ""
    shown = measure("accuracy").show(worst["accuracy"]["value"])
    return (
        f"The worst one is {worst['name']} ({worst['n']:,} images), with an accuracy of "
        f"{shown}\N{NO-BREAK SPACE}%."
    )
