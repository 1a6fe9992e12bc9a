"""The axis whose values are folds of one manifest: its runs are parts of one result."""

from __future__ import annotations

import re
from typing import Final

FOLD: Final = "data.fold"
"""The axis. Runs that differ in it alone are pooled unless it makes the columns of the table."""


def without_fold(label: str, fold: str) -> str:
    """A label without the words that name its fold; the whole label where nothing else is in it.

    Args:
        label: For example ``erm_fold-0``.
        fold: Name of the axis value, for example ``fold-0``.

    Example:
        >>> without_fold("erm_fold-1_lr-0.1", "fold-1"), without_fold("fold-1", "fold-1")
        ('erm_lr-0.1', 'fold-1')
    """
    left = re.sub(rf"(^|_){re.escape(fold)}(?=_|$)", "", label, count=1).strip("_")
    return left or label
