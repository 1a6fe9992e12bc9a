"""Where acting on the predictions is worth more than acting on all images or on none."""

from __future__ import annotations

from typing import NamedTuple

from medldr.folders.curve_records import DecisionCurve

EQUAL = 1e-12
"""Differences this small come from rounding."""


class Useful(NamedTuple):
    """How many thresholds favour the predictions, of how many, and the longest range of these."""

    thresholds: int
    of: int
    low: float
    high: float


def useful(curve: DecisionCurve) -> Useful | None:
    """Thresholds at which the predictions have the highest net benefit; None if there are none.

    Example:
        >>> curve = DecisionCurve(threshold=(0.1, 0.2, 0.3, 0.4), model=(0.2, 0.2, 0.1, 0.1),
        ...                       treat_all=(0.3, 0.1, 0.0, -0.1))
        >>> useful(curve)
        Useful(thresholds=3, of=4, low=0.2, high=0.4)
    """
    rows = zip(curve.threshold, curve.model, curve.treat_all, strict=True)
    runs: list[list[float]] = [[]]
    for threshold, model, treat_all in rows:
        if model > max(treat_all, 0.0) + EQUAL:
            runs[-1].append(threshold)
        elif runs[-1]:
            runs.append([])
    longest = max(runs, key=len)
    if not longest:
        return None
    return Useful(sum(map(len, runs)), len(curve.threshold), longest[0], longest[-1])
