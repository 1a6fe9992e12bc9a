"""Groups (patients, slides) whose images have different labels: a stray label, or a matter of fact.

Source:
    Our choice: they are noted where they are at most half of the groups with a label, as labels
    are those of images, and not of groups, where most groups have several. Of several labels per
    image nothing is noted, because a finding need not show in every image.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some

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
        known = ~np.isnan(column)
        pairs = np.unique(np.stack([number[known], column[known]]), axis=1)
        mixed |= np.bincount(pairs[0].astype(np.int64), minlength=len(names)) > 1
    return names[mixed].tolist(), len(names)


def mixed_text(found: Iterable[tuple[list[str], int]]) -> str:
    """What `mixed_groups` found, in some splits together, in words; empty where it found none.

    Example:
        >>> mixed_text([(["p03", "p17"], 20), ([], 4)])
        '2 of 24 groups (patients, slides) have images of different labels (p03, p17)'
    """
    mixed, of = list[str](), 0
    for names, groups in found:
        mixed, of = mixed + names, of + groups
    what = f"{len(mixed):,} of {of:,} groups (patients, slides) have images of different labels"
    return f"{what} ({some(mixed)})" if mixed else ""


def stray_labels(labels: Labels, groups: NDArray[np.str_]) -> tuple[str, ...]:
    """A note on groups of mixed labels, where they look like an exception.

    Args:
        labels: As for `mixed_groups`.
        groups: As for `mixed_groups`.
    """
    found = ([], 0) if labels.ndim == 2 else mixed_groups(labels, groups)
    return (mixed_text([found]),) if 0 < 2 * len(found[0]) <= found[1] else ()
