"""Texts of others, such as names of classes, hospitals and files, made harmless where they appear.

On a terminal a control character moves the cursor or writes a title, on a page it may hide what
follows; Markdown has characters that mean something; and a spreadsheet runs a cell that begins with
``=``, ``+``, ``-`` or ``@``.

Source:
    OWASP, "CSV Injection", for the characters. An apostrophe in front is how spreadsheets
    themselves mark a text.
"""

from __future__ import annotations

import re
from typing import Final

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>#|~$])")
_RUN: Final = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
_NUMBER: Final = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def visible(text: str) -> str:
    r"""A text with a visible sign for each control character but tabs and ends of lines.

    Characters that reverse the direction of writing count as such.

    Example:
        >>> visible("a\x1b[2J\nb\u202ec")
        'a�[2J\nb�c'
    """
    return _CONTROL.sub("\ufffd", text)


def escape(text: str) -> str:
    r"""A text that Markdown prints as it is, on one line.

    Example:
        >>> print(escape("batch_size <4>|5"))
        batch\_size \<4\>\|5
    """
    return _SPECIAL.sub(r"\\\1", visible(" ".join(text.split())))


def cell(text: str) -> str:
    """A text as a cell of a table that a spreadsheet takes as text; `plain` is its inverse.

    Example:
        >>> [cell(text) for text in ("=1+1", "-1.5e3", "+", "'=a", "a=b")]
        ["'=1+1", '-1.5e3', '+', "''=a", 'a=b']
    """
    return f"'{text}" if _runs(text) else text


def plain(text: str) -> str:
    """The text that `cell` made a cell of."""
    return text[1:] if text.startswith("'") and _runs(text[1:]) else text


def _runs(text: str) -> bool:
    return _RUN.match(text) is not None and not _NUMBER.fullmatch(text)
