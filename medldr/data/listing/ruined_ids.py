"""Ids that a spreadsheet has changed: long numbers, errors, and dates made of what was none.

Source:
    Excel and LibreOffice read cells on opening a CSV file and write what they show: of a number
    the first digits (``1,23457E+17`` for ``123456789012345678``), of a formula that fails the name
    of its error (``#N/A``, in German ``#NV``), of ``2-1`` a date (``02. Jan``). The id itself is
    lost: several become one, so that a patient may be in two splits. Genes have been renamed for
    this (Ziemann et al., Genome Biology 2016, 17:177). Our choice: refused only where a column
    says who or what an item is; in others such a cell may be what it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from medldr.data.counting import counted, some

_MONTH: Final = (
    r"(jan|feb|fév|m[aä]r|mrz|apr|avr|abr|ma[iy]|mag|jun|jui|giu|jul|lug|aug|ao[uû]|ago|"
    r"sep|set|o[ckt]t|nov|de[cz]|déc|dic|ene|gen)[a-zû]{0,6}\.?"
)
"""Months as spreadsheets shorten them in English, German, French, Spanish and Italian."""
_RUINED: Final = re.compile(
    r"[-+]?\d([.,]\d+)?e[-+]\d+"
    r"|#+|#n/?[adv]|#\S{2,12}[!?]"
    rf"|\d{{1,2}}[-./ ]+{_MONTH}([-./ ]+\d{{2,4}})?|{_MONTH}[-./ ]+\d{{2,4}}"
    r"|\d{4}-\d\d-\d\dT00:00:00",
    re.IGNORECASE,
)


def is_ruined(text: str) -> bool:
    """Whether a cell looks like what a spreadsheet makes of an id.

    Example:
        >>> [is_ruined(text) for text in ("1,23457E+17", "#N/A", "02. Jan", "Jan-02", "#VALUE!")]
        [True, True, True, True, True]
        >>> [is_ruined(text) for text in ("123456789012345678", "12E4", "#12", "Mar-A1", "2-1")]
        [False, False, False, False, False]
    """
    return _RUINED.fullmatch(text) is not None


def ruined_ids(column: str, cells: Sequence[str], at: Callable[[int], str]) -> list[str]:
    """A sentence on the ids of a column that a spreadsheet has changed, if there are any.

    Args:
        column: The column in words.
        cells: ``(N,)`` its cells.
        at: Where a row is in the file.

    Example:
        >>> ruined_ids("the column 'id'", ["a", "#N/A"], "line {}".format)[0][:60]
        "the column 'id' has 1 id that a spreadsheet has changed: lin"
    """
    ruined = [row for row, cell in enumerate(cells) if is_ruined(cell)]
    if not ruined:
        return []
    which = some(f"{at(row)} {cells[row]!r}" for row in ruined)
    ids = counted(len(ruined), "id", "ids")
    return [
        f"{column} has {ids} that a spreadsheet has changed: {which}. Format the column as text "
        "where the ids are still whole, and export it anew"
    ]
