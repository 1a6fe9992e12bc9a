"""Distances between domains: by loops over pairs, unbiased, and with intervals that hold."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.representation.centres import NEAREST, OF_SEEN, OVERALL, PAIR, centres
from medldr.evaluation.representation.frame import Options, number, where
from medldr.folders.latents_record import View

OPTIONS = Options(draws=100)


def apart(latents, one, two, copies):
    """Mean squared distance of images of two sets, over pairs of different groups."""
    z, units = latents.z.astype(float), latents.units
    pairs = [(i, j) for i in one for j in two if units[i] != units[j]]
    weights = [copies[i] * copies[j] for i, j in pairs]
    if not sum(weights):
        return np.nan
    return np.average([((z[i] - z[j]) ** 2).sum() for i, j in pairs], weights=weights)


def by_hand(latents, copies=None):
    """Distances of all pairs of domains by loops over pairs of images."""
    copies = np.ones(len(latents)) if copies is None else copies
    classes, names = np.unique(latents.label), sorted(set(latents.domain.tolist()))
    cells = {
        (k, name): np.flatnonzero((latents.label == k) & (latents.domain == name))
        for k in classes
        for name in names
    }
    variance = {key: apart(latents, rows, rows, copies) / 2 for key, rows in cells.items()}
    out = {}
    for a, b in combinations(names, 2):
        squared = [
            apart(latents, cells[k, a], cells[k, b], copies) - variance[k, a] - variance[k, b]
            for k in classes
        ]
        out[a, b] = np.nanmean(squared) / np.nanmean(list(variance.values()))
    return out


def pairs(frame):
    return {(x["domain"], x["other_domain"]): x["held"] for x in where(frame, of=PAIR)}


@pytest.mark.parametrize("per_group", [0, 3])
def test_distances_are_those_of_loops_over_pairs_of_images(synthetic_latents, per_group):
    latents = synthetic_latents(n=60, dim=4, per_group=per_group)
    found = centres(latents, OPTIONS)
    expected = by_hand(latents)
    got = {pair: held.mean for pair, held in pairs(found).items()}
    assert got == pytest.approx(expected, rel=1e-9)
    assert {x["unseen"] for x in found if x["of"] == PAIR} == {(), ("c",)}
    assert number(found, of=OVERALL).mean == pytest.approx(np.mean(list(expected.values())))
    assert number(found, of=OF_SEEN).mean == pytest.approx(expected["a", "b"])
    (line,) = where(found, of=NEAREST)
    assert line["domain"] == min("ab", key=lambda name: expected[name, "c"])
    assert line["held"] == pairs(found)[line["domain"], "c"]


def test_without_groups_it_is_the_textbook_correction(synthetic_latents):
    latents = synthetic_latents(n=90, classes=1, domains=("a", "b"), unseen=(), per_group=0)
    z = [latents.z[latents.domain == name].astype(float) for name in "ab"]
    variances = [part.var(axis=0, ddof=1).sum() for part in z]
    squared = ((z[0].mean(axis=0) - z[1].mean(axis=0)) ** 2).sum()
    squared -= sum(v / len(part) for v, part in zip(variances, z, strict=True))
    found = centres(latents, OPTIONS)
    assert pairs(found)["a", "b"].mean == pytest.approx(squared / np.mean(variances))
    assert where(found, of=NEAREST) == []


def test_patients_of_two_domains_are_not_compared_with_themselves(synthetic_latents):
    latents = synthetic_latents(n=60, dim=3, per_group=0)
    latents = replace(latents, group=np.arange(60) % 20)  # a patient has images of all domains
    got = {pair: held.mean for pair, held in pairs(centres(latents, OPTIONS)).items()}
    assert got == pytest.approx(by_hand(latents), rel=1e-9)


def test_an_interval_is_of_drawn_groups_without_pairs_of_copies(synthetic_latents):
    latents = synthetic_latents(n=36, dim=3, classes=2, domains=("a", "b"), unseen=(), per_group=2)
    options = Options(draws=25)
    found = pairs(centres(latents, options))["a", "b"]
    unit = np.unique(latents.units, return_inverse=True)[1]
    groups = unit.max() + 1
    draws = [
        by_hand(latents, drawn[unit])["a", "b"]
        for weights in group_weights(groups, options.draws, stream(0, "centres"))
        for drawn in weights.T
    ]
    half = t.ppf(0.975, groups - 1) * np.sqrt(np.var(draws) * groups / (groups - 1))
    assert found.low == pytest.approx(found.mean - half)
    assert found.high == pytest.approx(found.mean + half)


def test_scale_turn_and_place_of_latents_do_not_matter(synthetic_latents):
    latents = synthetic_latents(n=60)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    z = (100 + 7 * latents.z.astype(float) @ turn).astype(np.float32)
    moved = replace(latents, views={"original": View(z, z)})
    expected, got = centres(latents, OPTIONS), centres(moved, OPTIONS)
    for one, other in zip(expected, got, strict=True):
        assert other["held"].mean == pytest.approx(one["held"].mean, abs=1e-4)


@pytest.mark.slow
def test_intervals_hold_the_distance_of_the_populations(synthetic_latents):
    rng = np.random.default_rng(3)
    shift = np.array([0.8, 0.0, 0.0])
    base = synthetic_latents(n=120, dim=3, classes=2, domains=("a", "b"), unseen=(), per_group=0)
    held = 0
    for _ in range(60):
        z = rng.normal(size=(120, 3)) + (base.domain == "b")[:, None] * shift
        z = z.astype(np.float32)
        found = centres(replace(base, views={"original": View(z, z)}), Options(draws=150))
        interval = pairs(found)["a", "b"]
        held += interval.low <= 0.64 / 3 <= interval.high
    assert held >= 51  # 57 are expected, and 50 or fewer would be seen once in 200 times


def test_where_it_makes_no_sense_there_is_nothing(synthetic_latents):
    latents = synthetic_latents(n=40)
    constant = np.full_like(latents.z, 0.1)
    hollow = np.full_like(latents.z, np.nan)
    for made in (
        synthetic_latents(n=40, domains=(), unseen=()),
        synthetic_latents(n=40, domains=("a",), unseen=()),
        synthetic_latents(n=1),
        synthetic_latents(n=3),
        replace(latents, label=np.zeros((40, 2))),
        replace(latents, views={"original": View(constant, constant)}),
        replace(latents, views={"original": View(hollow, hollow)}),
        replace(latents, group=np.zeros(40, dtype=np.int64)),
    ):
        assert centres(made, OPTIONS) == []


def test_images_that_are_one_point_in_each_domain_have_no_unit(synthetic_latents):
    latents = synthetic_latents(n=40)
    z = np.repeat((latents.domain == "a")[:, None], 8, axis=1).astype(np.float32) / 3
    assert centres(replace(latents, views={"original": View(z, z)}), OPTIONS) == []


def test_a_pair_without_a_shared_class_says_so(synthetic_latents):
    latents = synthetic_latents(n=120, classes=2)
    keep = ((latents.domain == "a") & (latents.label == 0)) | (
        (latents.domain == "b") & (latents.label == 1)
    ) | (latents.domain == "c")  # fmt: skip
    latents = latents.select(keep)
    latents.views["original"].z[0] = np.nan
    found = centres(latents, OPTIONS)
    assert pairs(found)["a", "b"].mean is None
    assert "no class" in pairs(found)["a", "b"].reason
    assert number(found, of=OF_SEEN).mean is None
    shown = [pairs(found)["a", "c"].mean, pairs(found)["b", "c"].mean]
    assert number(found, of=OVERALL).mean == pytest.approx(np.mean(shown))
