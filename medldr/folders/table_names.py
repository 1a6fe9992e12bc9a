"""Names of the rows and columns of a sweep's table, made from the values that define them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RUN: Final = "run"
"""Used like an axis for the label of a run's entry."""
DATA: Final = "data"
"""Used like an axis if no axis makes the columns: they are the data sets then."""
DRAW: Final = "draw"
"""Used like an axis for the draws of a random search."""
JOINT: Final = ", "
"""Joins the values of a row or column that several axes make."""


def joined(values: Mapping[str, str]) -> str:
    """Name of the row or column that these values make.

    Example:
        >>> joined({"algorithm": "erm", "training.lr": "lr-0.1"})
        'erm, lr-0.1'
    """
    return JOINT.join(values.values())
