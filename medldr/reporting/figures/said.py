"""The fixed words of figures and the charts of training, kept in `templates/figures.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from medldr.errors import did_you_mean


@cache
def figures_file() -> Mapping[str, Any]:
    """The file, as it is: ``words`` by figure, and lists of charts."""
    path = Path(__file__).parents[1] / "templates" / "figures.json"
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def figure_words(name: str, /, **given: object) -> dict[str, Any]:
    """Title, caption and labels of the axes, as `draw_axes` takes them.

    Args:
        name: The figure.
        given: Values of its title and caption.

    Raises:
        LookupError: If the file lacks it.

    Example:
        >>> figure_words("reliability", ece="0.1", reading="", definition="", bins=15)["title"]
        'Reliability, ECE 0.1'
    """
    known = figures_file()["words"]
    if name not in known:
        raise LookupError(f"figures.json has no words.{name}.{did_you_mean(name, known)}")
    said = known[name]
    filled = {key: said[key].format(**given) for key in ("title", "caption")}
    return {**filled, "labels": (said["x"], said["y"])}
