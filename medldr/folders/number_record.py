"""A number of `evaluation.json`."""

from __future__ import annotations

from medldr.folders.records import Record


class Number(Record):
    """A metric with its interval.

    Attributes:
        value: None if it is undefined.
        low: Lower end of the interval; None if there is none.
        high: Upper end of the interval.
        reason: Why it is undefined, or a remark on a number that is defined.
        undefined_draws: Bootstrap draws missing from the interval; None if it uses all.
        noise: What a calibration error would be without miscalibration: on average, and at most in
            95% of samples; None for other numbers.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    undefined_draws: int | None = None
    noise: tuple[float, float] | None = None
