"""A document as one self-contained HTML page: everything escaped, nothing loaded from outside."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from medldr.metrics import metric_facts
from medldr.reporting.document import Card, Cards, Document
from medldr.reporting.table import interval
from medldr.reporting.writers.cells import printed
from medldr.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("medldr.reporting"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    # Only our own drawings pass unescaped; matplotlib has escaped the texts inside them.
    kind = {"kind": lambda block: type(block).__name__}
    environment.filters |= {"svg": Markup, "printed": printed, "range": _range, **kind}
    environment.globals["version"] = __version__
    return environment


def _range(cards: Cards, card: Card) -> str:
    """The interval of a large number, which must not break across lines."""
    held = card.cell.estimate
    ends = "" if held is None else interval(held, card.cell.metric or metric_facts(""))
    unbroken = ends.replace(" ", "\N{NO-BREAK SPACE}")
    return f"{100 * cards.level:g}%\N{NO-BREAK SPACE}CI {unbroken}" if ends else ""


def html_page(document: Document) -> str:
    """The page as text."""
    return _environment().get_template("page.html.jinja").render(page=document)
