"""Differences turned round, and between runs."""

from __future__ import annotations

from typing import Final

from medldr.evaluation.intervals.estimate import Estimate

TWO_KINDS: Final = "a mean over seeds is not compared with a single run"


def turned(difference: Estimate) -> Estimate:
    """The other one minus this one."""
    low, high, mean = difference.low, difference.high, difference.mean
    return Estimate(
        None if mean is None else -mean,
        low=None if high is None else -high,
        high=None if low is None else -low,
        reason=difference.reason,
    )


def of_two_kinds(one: Estimate, other: Estimate) -> bool:
    """Whether one is a mean over seeds and the other of a single run: their CIs do not compare."""
    return (one.n is None) != (other.n is None)


def apart(one: Estimate, other: Estimate) -> Estimate:
    """One number minus another of a different run, both with an interval, as if independent.

    A mean over seeds minus the number of a single run has no interval.

    The same images are easy or hard for both, so the interval is rather too wide.

    Args:
        one: A number that is defined.
        other: Another one.

    Source:
        Zou and Donner 2008 (the method of variance estimates recovery).

    Example:
        >>> found = apart(Estimate(5.0, low=2.0, high=8.0), Estimate(1.0, low=-3.0, high=5.0))
        >>> found.mean, found.low, found.high
        (4.0, -1.0, 9.0)
    """
    if one.mean is None or other.mean is None:
        return Estimate(reason=one.reason or other.reason)
    mean = one.mean - other.mean
    if of_two_kinds(one, other):
        return Estimate(mean, reason=TWO_KINDS)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(mean)
    low = ((one.mean - one.low) ** 2 + (other.high - other.mean) ** 2) ** 0.5
    high = ((one.high - one.mean) ** 2 + (other.mean - other.low) ** 2) ** 0.5
    return Estimate(mean, low=mean - low, high=mean + high)
