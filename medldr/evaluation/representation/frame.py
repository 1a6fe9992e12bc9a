"""What an analysis is asked for, and one topic of it as a frame: a line for each number.

Columns say what a number is of. The csv file of a topic is its frame, its table is a pivot of it,
and its figure shows some of its lines. The number itself, with its interval, is in ``held``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from medldr.evaluation.intervals.estimate import Estimate


@dataclass(frozen=True)
class Options:
    """Settings of an analysis; the same for all its runs.

    Attributes:
        seed: Of everything that is drawn here; degraded and restored latents that a run has
            stored were drawn before.
        neighbours: Nearest neighbours that are looked at.
        items: Most images of a run in whatever compares all pairs of images.
        points: Most images of a run in a map.
        draws: Bootstrap draws of groups (images where there are none) for each 95% interval.
        queries: Images whose neighbours are shown as pictures.
        batches: Random batches that a query of the first figure is inserted into.
    """

    seed: int = 0
    neighbours: int = 10
    items: int = 2_000
    points: int = 800
    draws: int = 1_000
    queries: int = 6
    batches: int = 32


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
