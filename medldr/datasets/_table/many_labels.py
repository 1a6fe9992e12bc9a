"""Several labels per row, each true, false, missing or uncertain.

Source:
    Blank is missing and -1 (or ``u``) is uncertain as in the tables of CheXpert (Irvin et al.,
    AAAI 2019, section 3.2), whose policies U-Ignore, U-Ones and U-Zeros are ``missing``,
    ``positive`` and ``negative`` here. Nothing is chosen silently: each label's counts are noted.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from medldr.datasets._table.labels import Labels
from medldr.datasets._table.names import tidied
from medldr.datasets._table.rows import Rows
from medldr.errors import InputError, did_you_mean

Uncertain = Literal["missing", "positive", "negative"]

_KNOWN: Final = {
    **dict.fromkeys(("0", "0.0", "false", "no"), 0.0),
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1.0),
}
_UNCERTAIN: Final = ("-1", "-1.0", "u")
_MEANS: Final[dict[Uncertain, float]] = {"missing": np.nan, "positive": 1.0, "negative": 0.0}


def many_labels(rows: Rows, classes: tuple[str, ...] | None, uncertain: Uncertain) -> Labels:
    """The labels of each row.

    Args:
        rows: The items.
        classes: The labels in another order than that of `Rows.labels`; None: in that order.
        uncertain: What an uncertain label counts as.

    Returns:
        Labels ``(N, L)`` float32; a note for each label counts what is known of it.

    Raises:
        InputError: If a cell is none of the allowed values, or `classes` are other labels.
    """
    names = tuple(rows.labels)
    if classes is not None:
        names = _reordered(names, classes)
    labels = np.full((len(rows), len(names)), np.nan, dtype=np.float32)
    notes = []
    for place, name in enumerate(names):
        cells = [cell.casefold() for cell in rows.labels[name]]
        missing, unsure = cells.count(""), sum(cell in _UNCERTAIN for cell in cells)
        values = _KNOWN | dict.fromkeys(_UNCERTAIN, _MEANS[uncertain]) | {"": np.nan}
        for row, cell in enumerate(cells):
            if cell not in values:
                raise InputError(
                    f"{rows.where}: {rows.at(row)} has {rows.labels[name][row]!r} in the column "
                    f"{name!r} (data.label). Of several labels each is 0 or 1, blank (missing), or "
                    "-1 or u (uncertain). For classes that exclude each other name one column"
                )
            labels[row, place] = values[cell]
        known = len(cells) - missing - unsure
        said = f"label {name}: {known:,} known, {missing:,} missing"
        if unsure:
            said += f", {unsure:,} uncertain, counted as {uncertain} (data.uncertain)"
        notes.append(said)
    bare = int(np.isnan(labels).all(axis=1).sum())
    if bare:
        notes.append(f"{bare:,} of {len(rows):,} rows have no known label")
    return Labels(names, labels, True, tuple(notes))


def _reordered(names: tuple[str, ...], classes: tuple[str, ...]) -> tuple[str, ...]:
    known = {tidied(name): name for name in names}
    asked = [tidied(name) for name in classes]
    odd = next((name for name in asked if name not in known), None)
    if odd is not None:
        raise InputError(
            f"data.classes: {odd!r} is not one of the labels that data.label names."
            f"{did_you_mean(odd, known)} Labels: {', '.join(names)}"
        )
    if sorted(asked) != sorted(known):
        raise InputError(
            f"data.classes should list each label of data.label once: {', '.join(names)}"
        )
    return tuple(known[name] for name in asked)
