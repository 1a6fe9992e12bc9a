"""Lines of named values as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from medldr.foreign_text import cell


def csv_text(fields: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> str:
    r"""A table; what a line does not have is empty, and so is None.

    A text that a spreadsheet would run begins with an apostrophe, see `medldr.foreign_text`.

    Args:
        fields: Names of its columns.
        lines: Values by column.

    Example:
        >>> csv_text(["a", "b"], [{"a": 0.5, "b": True}, {"b": None}])
        'a,b\n0.5,true\n,\n'
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({key: _text(value) for key, value in line.items()} for line in lines)
    return out.getvalue()


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else cell(value) if isinstance(value, str) else value
