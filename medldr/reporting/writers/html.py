"""A document as one self-contained HTML page: everything escaped, nothing loaded from outside.

Tables alone are also written for notebooks.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from medldr.foreign_text import visible
from medldr.reporting.document import Document
from medldr.reporting.table import Table
from medldr.reporting.writers.cells import printed
from medldr.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("medldr.reporting"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_visible,
    )  # fmt: skip
    # Only our own drawings pass unescaped; matplotlib has escaped the texts inside them.
    kind = {"kind": lambda block: type(block).__name__}
    breaks = {"breakable": lambda text: escape(text).replace("_", Markup("_<wbr>"))}
    environment.filters |= {"svg": Markup, "printed": printed, **kind, **breaks}
    environment.globals["version"] = __version__
    return environment


def _visible(value: Any) -> Any:
    return type(value)(visible(value)) if isinstance(value, str) else value


def html_page(document: Document) -> str:
    """The page as text."""
    return _environment().get_template("page.html.jinja").render(page=document)


def html_notebook(title: str, tables: Sequence[Table]) -> str:
    """Tables as a notebook shows them, styled where they stand because it has its own style sheet.

    Args:
        title: A line above the tables.
        tables: What to show; their footnotes are left to the page.

    Example:
        >>> from medldr.reporting.table import Cell, Row
        >>> html = html_notebook("A <run>", [Table("results", ["split"], [Row("test", [Cell(7)])])])
        >>> "A &lt;run&gt;" in html, ">7</td>" in html
        (True, True)
    """
    template = _environment().get_template("notebook.html.jinja")
    return template.render(title=title, tables=tables)
