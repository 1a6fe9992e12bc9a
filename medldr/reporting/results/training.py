"""The learning rate of a run: its recipe's, times the factor of the method."""

from __future__ import annotations

from typing import Final

from medldr.config.sections import section
from medldr.reporting.read.run import RunFiles

RATE: Final = "training.lr"
"""The key of the learning rate."""


def rate_of(files: RunFiles | None) -> float | None:
    """The learning rate used by a run; None where its configuration does not say.

    Example:
        >>> config = {"training": {"lr": 0.002}, "algorithm": {"name": "x", "lr_scale": 0.5}}
        >>> rate_of(RunFiles("a", config))
        0.001
    """
    config = {} if files is None else files.config
    rate = section(config, "training").get("lr")
    scale = section(config, "algorithm").get("lr_scale", 1.0)
    if not isinstance(rate, int | float) or not isinstance(scale, int | float):
        return None
    return float(rate) * float(scale)
