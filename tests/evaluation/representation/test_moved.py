"""How far latents are moved, against loops over images, pairs and draws."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.queries import ALONE, FEW, ONE_DOMAIN, SAME, SEVERAL, moved
from medldr.folders.latents_record import View


def numbers(*given):
    return [line["held"] for line in moved(*given)]


def training(latents):
    return latents.select(latents.split == "train")


def by_loops(latents, view, times=None):
    """All four numbers; ``times`` is how often each image is counted, once by default."""
    z, other = (latents.views[k].z.astype(np.float64) for k in ("original", view))
    n = len(z)
    times = np.ones(n) if times is None else times
    apart = [[latents.units[i] != latents.units[j] for j in range(n)] for i in range(n)]
    far = [np.linalg.norm(other[i] - z[i]) for i in range(n)]
    near = [min(np.linalg.norm(z[i] - z[j]) for j in range(n) if apart[i][j]) for i in range(n)]
    within, same, elsewhere = [], [], []
    for i in range(n):
        pairs = [
            (np.linalg.norm(z[i] - z[j]), times[j]) for j in range(n)
            if apart[i][j] and latents.label[i] == latents.label[j] and times[j]
        ]  # fmt: skip
        total = sum(count for _, count in pairs)
        within.append(sum(d * count for d, count in pairs) / total if pairs else np.nan)
        there = [j for j in range(n) if apart[i][j]]
        nearest = min(there, key=lambda j, i=i: np.linalg.norm(other[i] - z[j]))
        same.append(latents.label[nearest] == latents.label[i])
        elsewhere.append(latents.domain[nearest] != latents.domain[i])
    within, known = np.array(within), ~np.isnan(within)
    return [
        np.average(far, weights=times) / np.average(near, weights=times),
        np.average(far, weights=times) / np.average(within[known], weights=times[known]),
        np.average(same, weights=times), np.average(elsewhere, weights=times),
    ]  # fmt: skip


@pytest.mark.parametrize("per_group", [0, 3])
@pytest.mark.parametrize("view", ["degraded", "restored"])
def test_numbers_are_those_of_loops(synthetic_latents, view, per_group):
    latents = synthetic_latents(70, per_group=per_group, apart=1)
    found = moved(latents, view, Options(draws=50))
    expected = by_loops(training(latents), view)
    assert [line["held"].mean for line in found] == pytest.approx(expected)
    assert {line["images"] for line in found} == {len(training(latents))}
    for one in (line["held"] for line in found):
        assert one.low < one.mean < one.high


@pytest.mark.slow
def test_draws_are_of_groups_and_copies_are_no_pairs(synthetic_latents):
    latents = training(synthetic_latents(60, per_group=3))
    found = numbers(latents, "restored", Options(draws=40))
    unique, place = np.unique(latents.units, return_inverse=True)
    weights = np.concatenate(
        list(group_weights(len(unique), 40, stream(0, "moved"))), axis=1
    )[place]  # fmt: skip
    drawn = np.array([by_loops(latents, "restored", w) for w in weights.T])
    # Student's t with one degree of freedom fewer than there are groups.
    from scipy.stats import t

    count = len(unique)
    half = t.ppf(0.975, count - 1) * drawn[:, :2].std(axis=0) * (count / (count - 1)) ** 0.5
    for one, width in zip(found[:2], half, strict=True):
        assert (one.low, one.high) == pytest.approx((one.mean - width, one.mean + width))


def test_latents_that_stay_are_not_moved_and_a_shift_is_measured(synthetic_latents):
    latents = synthetic_latents(60, per_group=0)
    original = latents.views["original"]
    still = replace(latents, views={"original": original, "degraded": original})
    found = numbers(still, "degraded", Options(draws=20))
    assert [one.mean for one in found[:2]] == [0, 0]
    shifted = View(original.z + np.float32(100) * np.eye(1, 8, dtype=np.float32), original.logits)
    views = {"original": original, "degraded": shifted}
    far = numbers(replace(still, views=views), "degraded", Options(draws=20))[0]
    z = training(latents).z.astype(np.float64)
    between = np.linalg.norm(z[:, None] - z, axis=2) + np.diag(np.full(len(z), np.inf))
    assert far.mean == pytest.approx(100 / between.min(axis=1).mean(), rel=1e-5)


def test_other_splits_and_latents_that_are_not_finite_do_not_count(synthetic_latents):
    latents = synthetic_latents(70)
    train = np.flatnonzero(latents.split == "train")
    views = {name: View(view.z.copy(), view.logits) for name, view in latents.views.items()}
    views["original"].z[train[0]] = np.nan
    views["restored"].z[train[1], 2] = np.inf
    views["restored"].z[latents.split == "test"] = 1e6
    found = numbers(replace(latents, views=views), "restored", Options(draws=20))
    expected = by_loops(latents.select(train[2:]), "restored")
    assert [one.mean for one in found] == pytest.approx(expected)
    views["original"].z[:] = np.nan
    gone = numbers(replace(latents, views=views), "restored", Options(draws=20))
    assert {one.reason for one in gone} == {FEW}


def test_no_more_images_are_taken_than_asked_for(synthetic_latents):
    found = moved(synthetic_latents(200), "restored", Options(draws=20, items=50))
    assert {line["images"] for line in found} == {50}


def test_what_is_undefined_says_why(synthetic_latents):
    options = Options(draws=20)
    latents = synthetic_latents(60, per_group=0)
    several = numbers(replace(latents, label=np.eye(3)[latents.label]), "degraded", options)
    assert several[1].reason == several[2].reason == SEVERAL
    assert several[0].mean > 0
    alone = synthetic_latents(60, domains=("a",), unseen=())
    assert numbers(alone, "degraded", options)[3].reason == ONE_DOMAIN
    nowhere = synthetic_latents(60, domains=(), unseen=())
    assert numbers(nowhere, "degraded", options)[3].reason == ONE_DOMAIN
    one = synthetic_latents(12, per_group=0).select(np.array([0]))
    one = replace(one, split=np.array(["train"]))
    assert {number.reason for number in numbers(one, "degraded", options)} == {FEW}
    pair = latents.select(np.array([np.flatnonzero(latents.label == k)[0] for k in (0, 1, 2)]))
    pair = replace(pair, split=np.full(3, "train"))
    assert numbers(pair, "degraded", options)[1].reason == ALONE
    constant = View(np.ones_like(latents.z), latents.views["original"].logits)
    same = replace(latents, views={**latents.views, "original": constant})
    per_nearest, per_class, *_ = numbers(same, "degraded", options)
    assert per_nearest.reason == per_class.reason == SAME
    assert per_nearest.mean is None


def test_one_class_is_enough(synthetic_latents):
    latents = synthetic_latents(40, classes=2)
    latents = replace(latents, label=np.zeros(40, dtype=int))
    _, per_class, same_class, _ = numbers(latents, "restored", Options(draws=20))
    assert same_class.mean == 1
    assert per_class.mean > 0
