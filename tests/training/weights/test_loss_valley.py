"""The valley of a list of losses: worked rows, undefined losses, and what may be thrown away.

Source:
    The worked rows are the published detector's, driven with these losses.
"""

import math
from collections import Counter, deque

import numpy as np
import pytest

from medldr.config.training_options import SwadConfig
from medldr.training.weights.loss_valley import find_valley, may_be_needed


def rule_of(converge, tolerance, compat=False):
    return SwadConfig(name="swad", n_converge=converge, n_tolerance=tolerance, compat=compat)


FALL = [2, 1.5, 1.2, 1, 0.8, 0.7, 0.6, 0.5]
ROWS = {
    "falls, stays and climbs out": (
        [*FALL, 0.55, 0.6, 0.58, 0.62, 0.9, 0.95, 0.9, 0.92, 0.95, 0.99, 1, 1],
        (7, 0.715, 17),
        range(6, 12),
        {6: 1, 7: 2, 8: 1, 9: 1, 10: 1, 11: 1},
    ),
    "falls and stays": (
        [*FALL, 0.55, 0.6, 0.58, 0.62, 0.61, 0.6, 0.63],
        (7, 0.715, None),
        range(6, 15),
        {6: 1, 7: 2, **dict.fromkeys(range(8, 15), 1)},
    ),
    "drops in": (
        [5, 4, 3, 2, 1.5, 0.5, 0.55, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65],
        (5, 0.715, None),
        range(5, 13),
        dict.fromkeys(range(5, 13), 1),
    ),
    "is inside before it converges": (
        [5, 4, 3, 0.62, 0.58, 0.5, 0.55, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65],
        (5, 0.715, None),
        range(4, 13),
        {4: 1, 5: 2, **dict.fromkeys(range(6, 13), 1)},
    ),
    "converges at once": (
        [0.5, 0.6, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6],
        (0, 0.78, None),
        range(10),
        {0: 3, 1: 2, 2: 2, **dict.fromkeys(range(3, 10), 1)},
    ),
    "converges early": (
        [1, 0.5, 0.6, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6],
        (1, 0.78, None),
        range(1, 10),
        {1: 1, 2: 2, 3: 2, **dict.fromkeys(range(4, 10), 1)},
    ),
    "is a short valley": (
        [2, 1.5, 1.2, 1, 0.5, 0.6, 0.7, 2, 2, 2, 2, 2, 2],
        (4, 0.78, 12),
        range(4, 7),
        {4: 1, 5: 1, 6: 1},
    ),
    "falls to the end": (
        [3, 2.9, 2.8, 2.7, 2.6, 2.5],
        (None, None, None),
        range(5, 6),
        {5: 1},
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_worked_row_is_found_and_compat_counts_as_the_published_code(name):
    losses, (lowest, threshold, died), chosen, counts = ROWS[name]
    tau = None if threshold is None else pytest.approx(threshold, abs=1e-12)
    for compat, segments in ((False, dict.fromkeys(chosen, 1)), (True, counts)):
        valley = find_valley(losses, rule_of(3, 6, compat))
        assert valley.segments == segments
        assert list(valley.segments) == sorted(segments)
        assert (valley.lowest, valley.died, valley.threshold) == (lowest, died, tau)


def detector(losses, rule):
    """The published detector as a machine with two queues: counts, both sets' start, and death."""
    window, held = deque(maxlen=rule.n_converge), deque(maxlen=rule.n_tolerance)
    counts, lowest, entry, died, tau = Counter(), None, None, None, math.inf
    for now in range(len(losses)):
        window.append(now)
        held.append(now)
        if lowest is None:
            if len(window) < rule.n_converge or np.argmin([losses[k] for k in window]) != 0:
                continue
            lowest, ahead = window[0], rule.n_tolerance - rule.n_converge
            tau = (1 + rule.ratio) * np.mean([losses[k] for k in window])
            entry = lowest
            if ahead > 0:
                oldest = list(held)[: ahead + 1]
                outside = [place for place, k in enumerate(oldest) if losses[k] > tau]
                place = outside[-1] + 1 if outside else 0
                entry = oldest[0] + place
                counts.update(oldest[place + 1 :])
            counts.update(list(window)[1 : max(1, 1 - ahead)])
        elif held[0] >= lowest:
            if min(losses[k] for k in held) > tau:
                died = now
                break
            counts[held[0]] += 1
    if lowest is None:
        return {len(losses) - 1: 1}, None, None, None, tau
    if died is None:
        held.popleft()
        while held and min(losses[k] for k in held) <= tau:
            counts[held.popleft()] += 1
    return dict(counts) or {lowest: 1}, lowest, entry, died, tau


@pytest.mark.parametrize(("converge", "tolerance"), [(3, 6), (3, 4), (3, 3), (4, 2), (1, 2)])
def test_random_losses_are_scored_as_by_the_published_detector(converge, tolerance):
    generator = np.random.default_rng(1)
    rules = [rule_of(converge, tolerance, compat) for compat in (False, True)]
    died_once = False
    for _ in range(100):
        drawn = 0.5 + generator.gamma(1, 0.3, generator.integers(1, 25))
        drawn[generator.integers(25) :] += 1
        losses = [*sorted(drawn[:6], reverse=True), *drawn[6:]]
        counts, lowest, entry, died, tau = detector(losses, rules[1])
        clean, compat = (find_valley(losses, rule) for rule in rules)
        assert compat.segments == counts
        assert (compat.lowest, compat.died) == (clean.lowest, died) == (lowest, died)
        died_once |= died is not None
        if lowest is None:
            assert clean.segments == counts
            continue
        # Its own count of what is above the threshold starts after the lowest loss.
        over = [
            k
            for k in range(lowest + tolerance, len(losses))
            if min(losses[k - tolerance + 1 : k + 1]) > tau
        ]
        end = over[0] if over else len(losses)
        inside = [k for k in range(lowest, end) if losses[k] <= tau]
        assert list(clean.segments) == list(range(min(entry + 1, lowest), inside[-1] + 1))
        assert set(clean.segments.values()) == {1}
        assert clean.died == (over[0] if over else None)
    assert died_once


def test_a_bump_shorter_than_the_tolerance_is_bridged_and_a_trailing_one_is_left_out():
    losses = [2, 1, 0.5, 0.55, 0.6, *[2] * 5, 0.6, *[2] * 5]
    valley = find_valley(losses)
    assert list(valley.segments) == list(range(2, 11))
    assert valley.died is None
    assert find_valley([*losses, 2]).died == 16
    assert list(find_valley([*losses, 2, 0.1, 0.1]).segments) == list(range(2, 11))


@pytest.mark.parametrize("bad", [math.nan, None, math.inf])
def test_an_undefined_loss_never_converges_and_counts_as_outside(bad):
    assert find_valley([bad] * 5).segments == {4: 1}
    assert find_valley([bad] * 5).lowest is None
    assert find_valley([0.5, bad, 0.6]).lowest is None
    assert find_valley([0.5, 0.6, 0.7, *[bad] * 6]).died == 8
    assert list(find_valley([0.5, 0.6, 0.7, bad, 0.6]).segments) == [0, 1, 2, 3, 4]
    assert list(find_valley([bad, 0.6, 0.5, 0.55, 0.6]).segments) == [2, 3, 4]


def test_flat_losses_converge_in_the_first_full_window():
    assert find_valley([1.0, 1.0]).lowest is None
    assert find_valley([1.0] * 4).lowest == 0
    assert list(find_valley([1.0] * 4).segments) == [0, 1, 2, 3]


def test_tolerance_equal_to_or_below_the_window_looks_back_at_nothing():
    losses = [2, 0.6, 0.5, 0.55, 0.6, 0.6, 2, 2, 0.5]
    assert list(find_valley(losses, rule_of(3, 3)).segments) == list(range(2, 9))
    assert list(find_valley(losses, rule_of(3, 2)).segments) == [2, 3, 4, 5]
    assert find_valley(losses, rule_of(3, 2)).died == 7
    # The published code adds what the short queue can no longer hold: one entry after the oldest.
    assert find_valley(losses, rule_of(3, 2, True)).segments[3] == 1


def test_no_loss_is_a_mistake():
    with pytest.raises(ValueError, match="at least one validation"):
        find_valley([])


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize(("converge", "tolerance"), [(3, 6), (3, 3), (4, 2), (1, 2), (2, 1)])
def test_what_may_be_needed_holds_all_that_is_chosen_later_and_no_more_than_it_must(
    compat, converge, tolerance
):
    rule = rule_of(converge, tolerance, compat)
    generator = np.random.default_rng(0)
    for _ in range(60):
        losses = generator.choice([0.5, 0.55, 0.6, 0.8, 1.0, 2.0, math.nan], 14).tolist()
        if generator.random() < 0.5:
            losses[:6] = sorted(losses[:6], reverse=True)
        kept = set()
        for count in range(1, len(losses) + 1):
            needed = may_be_needed(losses[:count], rule)
            # A segment that was thrown away never comes back.
            kept = (kept | {count - 1}) & needed
            assert kept == needed
            if find_valley(losses[:count], rule).lowest is None:
                assert len(needed) <= max(converge, tolerance, 2)
            assert set(find_valley(losses[:count], rule).segments) <= kept
