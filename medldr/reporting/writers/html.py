"""Templates to text: one environment, everything escaped, nothing loaded from outside."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from medldr import __version__


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("medldr.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Only our own drawings pass unescaped; matplotlib has escaped the texts inside them.
    environment.filters["svg"] = Markup
    environment.globals["version"] = __version__
    return environment


def render(template: str, **content: Any) -> str:
    """The page that a template makes of this content."""
    return _environment().get_template(template).render(**content)
