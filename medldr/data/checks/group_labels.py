"""Groups (patients, slides) whose images have different labels: a stray label, or a matter of fact.

Source:
    Our choice: they are noted where they are at most half of the groups with a label, as labels
    are those of images, and not of groups, where most groups have several. Of several labels per
    image nothing is noted, because a finding need not show in every image.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import counted, some

Labels: TypeAlias = NDArray[Any]


def mixed_groups(labels: Labels, groups: NDArray[np.str_]) -> tuple[list[str], int]:
    """Names of the groups whose images have different labels, and how many groups there are.

    Args:
        labels: ``(N,)`` class numbers, or ``(N, L)`` of 0, 1 and NaN (missing, which differs from
            nothing).
        groups: ``(N,)`` text; an image without a group, which is empty, is left out.

    Example:
        >>> mixed_groups(np.array([0, 1, 1, 1, 0]), np.array(["p1", "p1", "p2", "p2", ""]))
        (['p1'], 2)
    """
    rows = groups != ""
    names, number = np.unique(groups[rows], return_inverse=True)
    mixed = np.zeros(len(names), dtype=bool)
    for column in np.atleast_2d(labels[rows].T):
        low, high = np.full((2, len(names)), [[np.inf], [-np.inf]])
        known = ~np.isnan(column)
        np.minimum.at(low, number[known], column[known])
        np.maximum.at(high, number[known], column[known])
        mixed |= low < high
    return names[mixed].tolist(), len(names)


def mixed_text(mixed: list[str], of: int) -> str:
    """In words.

    Example:
        >>> mixed_text(["p03", "p17"], 24)
        '2 of 24 groups (patients, slides) have images of different labels (p03, p17)'
    """
    have = "has" if len(mixed) == 1 else "have"
    groups = counted(of, "group (patient, slide)", "groups (patients, slides)")
    return f"{len(mixed):,} of {groups} {have} images of different labels ({some(mixed)})"


def stray_labels(labels: Labels, groups: NDArray[np.str_]) -> tuple[str, ...]:
    """A note on groups of mixed labels, where they look like an exception.

    Args:
        labels: As for `mixed_groups`.
        groups: As for `mixed_groups`.
    """
    if labels.ndim == 2 or not (groups != "").any():
        return ()
    mixed, of = mixed_groups(labels, groups)
    return (mixed_text(mixed, of),) if 0 < 2 * len(mixed) <= of else ()
