"""One topic of an analysis as a frame: a line for each number, with columns that say what it is of.

The csv file of a topic is its frame, its table is a pivot of it, and its figure shows some of its
lines. The number itself, with its interval, is in the column ``held``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from medldr.evaluation.intervals.estimate import Estimate

Line: TypeAlias = dict[str, Any]
RECOVERED = "restored minus degraded"
"""In place of a view: what restoration adds to degraded latents, of the same images."""


def where(frame: Iterable[Line], /, **of: object) -> list[Line]:
    """The lines whose columns hold these values.

    Example:
        >>> frame = [{"latents": view, "held": Estimate(0.5)} for view in ("original", "restored")]
        >>> [line["latents"] for line in where(frame, latents="restored")]
        ['restored']
    """
    return [line for line in frame if all(line[key] == value for key, value in of.items())]


def number(frame: Iterable[Line], /, **of: object) -> Estimate | None:
    """The one number of these columns; None where there is none.

    Raises:
        ValueError: If there are several.
    """
    found: list[Estimate] = [line["held"] for line in where(frame, **of)]
    if len(found) > 1:
        raise ValueError(f"{len(found)} numbers of {of}")
    return found[0] if found else None
