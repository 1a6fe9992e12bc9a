"""The stretch of training that SWAD averages, found from the validation losses alone.

A *segment* is the stretch of training between two validations; segment `k` ends at the `k`-th one
(from 0), where the loss is ``losses[k]``. The loss has *converged* at `i*` when none of the
``n_converge - 1`` validations after it is lower. The mean of these ``n_converge`` losses times
``1 + ratio`` is the threshold `tau` that bounds the valley. The valley *dies* after
``n_tolerance`` validations in a row above `tau`; shorter bumps are bridged.

Everything here is a function of a list of numbers: it can be tested on its own, and training has to
keep only the losses.

Source:
    Cha et al. 2021 (SWAD), with what its published code does beyond the text: the look back.
    That code adds some segments more than once; we average each chosen one once. ``compat`` counts
    as the code does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from medldr.config.training_options import SwadConfig


@dataclass(frozen=True)
class Valley:
    """What is averaged.

    Attributes:
        segments: How many times each segment counts, by its index, in order.
        lowest: Index `i*` at which the loss converged; None if it never did.
        threshold: `tau`; None if the loss never converged.
        died: Index of the validation at which the valley was over; None if it lasted.
    """

    segments: Mapping[int, int]
    lowest: int | None = None
    threshold: float | None = None
    died: int | None = None


USUAL: Final = SwadConfig(name="swad")


def find_valley(losses: Sequence[float | None], rule: SwadConfig = USUAL) -> Valley:
    """The segments that SWAD averages.

    From just after the first validation inside the valley (looking back from `i*` by at most
    ``n_tolerance - n_converge`` validations) to the last validation that is not above `tau`
    before the valley dies. If the loss never converges, that is the last segment alone.

    A loss that is undefined (None, NaN, infinite) counts as above `tau`, and no window that holds
    one converges. Losses that do not change at all converge in the first full window.

    Args:
        losses: One per validation, at least one.
        rule: How a valley is recognised: the keys of `training.averaging`.

    Example:
        >>> losses = [5, 4, 3, 0.62, 0.58, 0.5, 0.55, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65]
        >>> valley = find_valley(losses)
        >>> list(valley.segments), valley.lowest, round(valley.threshold, 3), valley.died
        ([4, 5, 6, 7, 8, 9, 10, 11, 12], 5, 0.715, None)
        >>> find_valley([3.0, 2.9, 2.8]).segments
        {2: 1}
    """
    numbers = _plain(losses)
    converged = _converged(numbers, rule)
    if converged is None:
        return Valley({len(numbers) - 1: 1})
    lowest, threshold = converged
    if rule.compat:
        counts, died = _published(numbers, rule, lowest, threshold)
        if died is None:
            counts += _published_rest(numbers, rule, threshold)
        segments = {k: counts[k] for k in sorted(counts)} or {lowest: 1}
        return Valley(segments, lowest, threshold, died)
    died = _death(numbers, rule, lowest, threshold)
    after = range(lowest + 1, died or len(numbers))
    last = max((k for k in after if numbers[k] <= threshold), default=lowest)
    start = min(_entry(rule, numbers, lowest, threshold) + 1, lowest)
    return Valley(dict.fromkeys(range(start, last + 1), 1), lowest, threshold, died)


def may_be_needed(losses: Sequence[float | None], rule: SwadConfig = USUAL) -> set[int]:
    """Segments that may still be averaged, whatever the coming validations show.

    Args:
        losses: One per validation so far.
        rule: How a valley is recognised: the keys of `training.averaging`.

    Example:
        >>> sorted(may_be_needed([9, 8, 7, 6, 5, 4, 3, 2, 1]))
        [4, 5, 6, 7, 8]
    """
    numbers = _plain(losses)
    count = len(numbers)
    converged = _converged(numbers, rule)
    if converged is None:
        # The next window can begin this far back, and the look back from it this far.
        first = count + 1 - max(rule.n_converge, rule.n_tolerance)
        return {*range(max(0, first), count), count - 1}
    lowest, threshold = converged
    valley = find_valley(losses, rule)
    if valley.died is not None:
        return set(valley.segments)
    if rule.compat:
        counts, _ = _published(numbers, rule, lowest, threshold)
        return {*(counts or {lowest}), *range(max(0, count - rule.n_tolerance), count)}
    return set(range(min(valley.segments), count))


def _plain(losses: Sequence[float | None]) -> list[float]:
    if not losses:
        raise ValueError("finding a valley needs at least one validation")
    return [math.inf if v is None or not math.isfinite(v) else float(v) for v in losses]


def _converged(losses: list[float], rule: SwadConfig) -> tuple[int, float] | None:
    """Index `i*` and the threshold, from the first window whose first loss is its lowest."""
    size = rule.n_converge
    for first in range(len(losses) - size + 1):
        window = losses[first : first + size]
        if math.isfinite(max(window)) and window[0] == min(window):
            return first, (1 + rule.ratio) * math.fsum(window) / size
    return None


def _entry(rule: SwadConfig, losses: list[float], lowest: int, threshold: float) -> int:
    """Index of the first validation inside the valley, within the look back."""
    last = lowest + rule.n_converge - 1
    oldest = max(0, last + 1 - rule.n_tolerance)
    seen = range(oldest, min(oldest + rule.n_tolerance - rule.n_converge, last) + 1)
    outside = [k for k in seen if losses[k] > threshold]
    if not seen:  # too little tolerance to look back
        return lowest
    return outside[-1] + 1 if outside else oldest


def _death(losses: list[float], rule: SwadConfig, lowest: int, threshold: float) -> int | None:
    above = 0
    for k in range(lowest + 1, len(losses)):
        above = above + 1 if losses[k] > threshold else 0
        if above == rule.n_tolerance:
            return k
    return None


def _published(
    losses: list[float], rule: SwadConfig, lowest: int, threshold: float
) -> tuple[Counter[int], int | None]:
    """What the published code has added so far, and where it declared the valley dead."""
    counts: Counter[int] = Counter()
    now = lowest + rule.n_converge - 1
    if rule.n_tolerance > rule.n_converge:
        oldest = max(0, now + 1 - rule.n_tolerance)
        end = min(oldest + rule.n_tolerance - rule.n_converge, now)
        counts.update(range(_entry(rule, losses, lowest, threshold) + 1, end + 1))
    else:
        counts.update(range(lowest + 1, lowest + 1 + rule.n_converge - rule.n_tolerance))
    for now in range(lowest + rule.n_converge, len(losses)):
        oldest = max(0, now + 1 - rule.n_tolerance)
        if oldest < lowest:
            continue
        if min(losses[oldest : now + 1]) > threshold:
            return counts, now
        counts[oldest] += 1
    return counts, None


def _published_rest(losses: list[float], rule: SwadConfig, threshold: float) -> Counter[int]:
    """What it adds at the end of the training: all but the oldest that it still holds."""
    rest = range(max(0, len(losses) - rule.n_tolerance) + 1, len(losses))
    last = max((k for k in rest if losses[k] <= threshold), default=rest.start - 1)
    return Counter(range(rest.start, last + 1))
