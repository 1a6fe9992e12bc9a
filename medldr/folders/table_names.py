"""How the rows and columns of a sweep's table are named: by the values that make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RUN: Final = "run"
"""Stands among the axes for the label of a run's entry."""
DATA: Final = "data"
"""Names the columns where no axis makes them: there they are the data sets."""
JOINT: Final = ", "
"""Stands between the names of a row or column that several axes make."""


def joined(values: Mapping[str, str]) -> str:
    """Name of the row or column that these values make.

    Example:
        >>> joined({"algorithm": "erm", "training.lr": "lr-0.1"})
        'erm, lr-0.1'
    """
    return JOINT.join(values.values())
