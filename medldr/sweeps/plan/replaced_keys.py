"""Keys of a section that an axis over that section would silently drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.config import PLUGIN_SECTIONS
from medldr.config.identity import flatten
from medldr.config.yaml import Document
from medldr.sweeps.plan.parts import Axis, SweepFile


def replaced_keys(sweep: SweepFile) -> list[str]:
    """One line for each key that `common` or an entry sets and an axis would drop.

    A bare word for a section, and a mapping with another ``name``, replace the whole section. That
    is intended for keys from parts, but not for keys that the sweep file itself sets.
    """
    problems = []
    documents = [sweep.common, *(entry.document for entry in sweep.entries)]
    for axis in sweep.axes:
        if axis.key not in PLUGIN_SECTIONS:
            continue
        for document in documents:
            stated = document.values.get(axis.key)
            if not isinstance(stated, Mapping) or not _replaces(axis, stated):
                continue
            keys = [key for key in flatten(dict(stated)) if key != "name"]
            problems += [_problem(axis, document, key) for key in keys]
    return list(dict.fromkeys(problems))


def _replaces(axis: Axis, stated: Mapping[str, Any]) -> bool:
    """Whether any of its values drops the previous content of a section."""
    values = axis.values.values()
    return any(
        isinstance(value, str)
        or (
            isinstance(value, Mapping)
            and value.get("name", stated.get("name")) != stated.get("name")
        )
        for value in values
    )


def _problem(axis: Axis, document: Document, key: str) -> str:
    words = (axis.key, *key.split("."))
    line = next(
        (document.lines[words[:n]] for n in (len(words), 1) if words[:n] in document.lines), None
    )
    where = document.source if line is None else f"{document.source}:{line}"
    return (
        f"{axis.key}.{key} ({where}) would be lost: axes.{axis.key} ({axis.where}) replaces the "
        f"whole section. Give it on the command line ({axis.key}.{key}=...), or write out the "
        f"values of axes.{axis.key} (NAME: {{name: ..., {key.split('.')[0]}: ...}})"
    )
