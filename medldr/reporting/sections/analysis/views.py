"""Words and csv fields for z, z_d and z_r and the differences between them."""

from __future__ import annotations

from medldr.evaluation.estimate import Estimate
from medldr.reporting.figures.views import VIEW_TITLES


def minus_text(one: str, other: str) -> str:
    """A paired difference of two views, in words.

    Example:
        >>> minus_text("restored", "degraded"), minus_text("original", "labels")
        ('restored minus degraded', 'original minus class alone')
    """
    alone = {"labels": "class alone"}
    return " minus ".join({**VIEW_TITLES, **alone}[name] for name in (one, other))


def fields_of(estimate: Estimate) -> dict[str, object]:
    """An estimate as fields of a csv file; undefined ones are empty.

    Example:
        >>> fields_of(Estimate(0.5, low=0.4, high=0.6))
        {'value': 0.5, 'low': 0.4, 'high': 0.6, 'reason': ''}
    """
    numbers = {"value": estimate.mean, "low": estimate.low, "high": estimate.high}
    found: dict[str, object] = {k: "" if v is None else v for k, v in numbers.items()}
    return {**found, "reason": estimate.reason}
