"""Patients found in names of files, where neither a column nor a folder names them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

PATTERNS: Final = (
    r"(?:^|/)([A-Za-z]*[0-9]+)[_-][^/]*$",
    r"(?:^|/)([A-Za-z]+[_-][0-9]+)[_-][^/]*$",
)
"""The patient of ``site/P12_003.png`` and of ``site/patient_12-003.png``."""

_FEWEST: Final = 10
_IMAGES_EACH: Final = 1.5
_LARGEST: Final = 0.2


def group_pattern(paths: Sequence[str]) -> tuple[str, int] | None:
    """A pattern that finds a patient in every path, and how many patients.

    Args:
        paths: ``(N,)`` paths with forward slashes.

    Returns:
        None where no pattern suits: some paths do not match, or what it finds does not look like
        patients (fewer than 10, fewer than 1.5 images each, a fifth of all images in one).

    Source:
        Our choice. Patients that are none only make intervals wider and splits coarser; images that
        are taken for independent although they share a patient make results look better.

    Example:
        >>> group_pattern([f"a/P{n // 3}_{n}.png" for n in range(60)])
        ('(?:^|/)([A-Za-z]*[0-9]+)[_-][^/]*$', 20)
        >>> group_pattern([f"a/IMG_{n}.png" for n in range(60)])
    """
    for pattern in PATTERNS:
        search = re.compile(pattern).search
        found = [match.group(1) for path in paths if (match := search(path))]
        if len(found) < len(paths):
            continue
        sizes = Counter(found)
        several = len(found) >= _IMAGES_EACH * len(sizes)
        if len(sizes) >= _FEWEST and several and max(sizes.values()) <= _LARGEST * len(found):
            return pattern, len(sizes)
    return None
