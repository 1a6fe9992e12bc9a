"""Shares of the nearest neighbours, against a loop over queries and drawn groups."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.representation.frame import RECOVERED, Options, number, where
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.neighbours import (
    ALIKE,
    SAME_BOTH,
    SAME_CLASS,
    SAME_DOMAIN,
    SAME_NEITHER,
    SAME_UNSEEN,
    UNLIKE,
    neighbours,
)
from medldr.folders.latents_record import View

OPTIONS = Options(neighbours=5, draws=200)


def measured(latents, options=OPTIONS, **more):
    return neighbours(neighbourhoods(latents, options, **more), options)


def shares_in(frame, queries="training", view="original"):
    return {x["neighbours"]: x["held"] for x in where(frame, queries=queries, latents=view)}


FOUR = (SAME_BOTH, SAME_CLASS, SAME_DOMAIN, SAME_NEITHER)


def shares_of(latents, query, others):
    """Shares of each kind among other rows, counted one by one."""
    seen = set(latents.spec.train_domains)
    found = dict.fromkeys((*FOUR, SAME_UNSEEN), 0.0)
    for row in others:
        alike = latents.label[row] == latents.label[query]
        near = latents.domain[row] == latents.domain[query]
        key = {(True, True): SAME_BOTH, (True, False): SAME_CLASS, (False, True): SAME_DOMAIN,
               (False, False): SAME_NEITHER}[bool(alike), bool(near)]  # fmt: skip
        found[key] += 1 / len(others)
        if key == SAME_CLASS and latents.domain[row] not in seen:
            found[SAME_UNSEEN] += 1 / len(others)
    return found


def by_hand(latents, view, rows, k):
    """Shares per query by scikit-learn's brute-force search, own group removed afterwards."""
    search = NearestNeighbors(n_neighbors=len(latents), metric="cosine", algorithm="brute")
    search.fit(latents.z.astype(float))
    order = search.kneighbors(latents.views[view].z[rows].astype(float), return_distance=False)
    units = latents.units
    return [
        shares_of(latents, row, [i for i in near if units[i] != units[row]][:k])
        for row, near in zip(rows, order, strict=True)
    ]


def mean(shares, key):
    return np.mean([each[key] for each in shares])


@pytest.mark.parametrize("per_group", [4, 0])
def test_shares_are_those_of_a_search_by_hand(synthetic_latents, per_group):
    latents = synthetic_latents(n=150, per_group=per_group, apart=0.6)
    near = neighbourhoods(latents, OPTIONS)
    assert (near.gallery, near.left_out) == (150, 0)
    found = neighbours(near, OPTIONS)
    masks = {
        "training": latents.split == "train",
        "seen": (latents.split != "train") & ~latents.unseen,
        "unseen": latents.unseen,
    }
    assert list(dict.fromkeys(line["queries"] for line in found)) == list(masks)
    for name, mask in masks.items():
        rows = np.flatnonzero(mask)
        assert {(x["k"], x["n"]) for x in where(found, queries=name)} == {(5, len(rows))}
        for view in latents.views:
            shares = shares_in(found, name, view)
            expected = by_hand(latents, view, rows, 5)
            for key, share in shares.items():
                if name == "unseen" and key == SAME_UNSEEN:  # there is one unseen domain alone
                    assert share.mean is None
                    assert "no such image" in share.reason
                    continue
                assert share.mean == pytest.approx(mean(expected, key), abs=1e-12), (view, key)
                assert share.low <= share.mean <= share.high
            assert sum(shares[key].mean for key in FOUR) == pytest.approx(1)


def test_chance_is_what_all_possible_neighbours_are(synthetic_latents):
    latents = synthetic_latents(n=90)
    found = where(measured(latents), latents="degraded")
    units = latents.units
    rows = np.flatnonzero(latents.split == "train")
    expected = [shares_of(latents, i, np.flatnonzero(units != units[i])) for i in rows]
    chance = {x["neighbours"]: x["at_random"] for x in where(found, queries="training")}
    assert chance == pytest.approx({key: mean(expected, key) for key in chance}, abs=1e-12)
    (unseen,) = where(found, queries="unseen", neighbours=SAME_UNSEEN)
    assert unseen["at_random"] == 0


def test_an_interval_is_of_drawn_groups(synthetic_latents):
    latents = synthetic_latents(n=120)
    found = shares_in(measured(latents), view="restored")[SAME_CLASS]
    rows = np.flatnonzero(latents.split == "train")
    values = np.array([each[SAME_CLASS] for each in by_hand(latents, "restored", rows, 5)])
    unit = np.unique(latents.units[rows], return_inverse=True)[1]
    groups = unit.max() + 1
    draws = []
    for weights in group_weights(groups, OPTIONS.draws, stream(0, "")):
        for drawn in weights.T:
            items = np.concatenate([np.repeat(np.flatnonzero(unit == g), int(n))
                                    for g, n in enumerate(drawn)])  # fmt: skip
            draws.append(values[items].mean())
    from scipy.stats import t

    half = t.ppf(0.975, groups - 1) * np.sqrt(np.var(draws) * groups / (groups - 1))
    assert found.low == pytest.approx(found.mean - half, abs=1e-9)
    assert found.high == pytest.approx(found.mean + half, abs=1e-9)


def test_restored_latents_find_the_class_again(synthetic_latents):
    frame = where(measured(synthetic_latents(shift=0.0)), queries="training", neighbours=SAME_CLASS)
    change, restored, degraded = (
        number(frame, latents=view) for view in (RECOVERED, "restored", "degraded")
    )
    assert change.mean == pytest.approx(restored.mean - degraded.mean)
    assert change.low > 0
    assert where(measured(synthetic_latents(views=False)), latents=RECOVERED) == []


def test_images_of_a_patient_are_no_neighbours_of_each_other(synthetic_latents):
    latents = synthetic_latents(n=80, per_group=20)
    copies = latents.z.copy()
    for unit in np.unique(latents.units):  # all images of a patient are the same
        rows = latents.units == unit
        copies[rows] = copies[rows][0]
    label = np.unique(latents.units, return_inverse=True)[1] % 3
    latents = replace(latents, label=label, views={"original": View(copies, copies)})
    one = replace(OPTIONS, neighbours=1)
    assert shares_in(measured(latents, one))[SAME_BOTH].mean < 0.9
    alone = replace(latents, group=np.full(80, -1))  # copies of one image are its neighbours
    assert shares_in(measured(alone, one))[SAME_BOTH].mean > 0.9


def test_without_domains_only_the_class_counts(synthetic_latents):
    latents = synthetic_latents(domains=(), unseen=())
    found = measured(latents)
    assert {line["queries"] for line in found} == {"training", "other"}
    part = shares_in(found, "other", "degraded")
    assert list(part) == [ALIKE, UNLIKE]
    rows = np.flatnonzero(latents.split != "train")
    expected = [
        each[SAME_BOTH] + each[SAME_CLASS] for each in by_hand(latents, "degraded", rows, 5)
    ]
    assert part[ALIKE].mean == pytest.approx(np.mean(expected))


def test_of_many_images_some_are_asked_about_and_all_can_be_neighbours(synthetic_latents):
    latents = synthetic_latents(n=200)
    found = neighbourhoods(latents, replace(OPTIONS, items=50))
    assert (len(found.queries), found.gallery) == (50, 200)
    again = neighbourhoods(latents, replace(OPTIONS, items=50))
    assert np.array_equal(found.queries.row, again.queries.row)
    assert {x["n"] < 50 for x in neighbours(found, OPTIONS)} == {True}


def test_latents_that_are_not_finite_are_left_out(synthetic_latents):
    latents = synthetic_latents(n=60)
    latents.views["degraded"].z[3, 1] = np.nan
    latents.views["original"].z[7] = 0
    found = neighbourhoods(latents, OPTIONS)
    assert (found.left_out, found.gallery) == (2, 58)
    rest = measured(latents.select(np.delete(np.arange(60), [3, 7])))
    assert rest == neighbours(found, OPTIONS)
    latents.views["restored"].z[:] = np.inf
    assert neighbourhoods(latents, OPTIONS) is None


@pytest.mark.parametrize("n", [1, 3, 12])
@pytest.mark.parametrize("per_group", [0, 1])
def test_few_images_give_numbers_or_nothing(synthetic_latents, n, per_group):
    near = neighbourhoods(synthetic_latents(n=n, per_group=per_group), OPTIONS)
    if n == 1:
        assert near is None
        return
    for share in (line["held"] for line in neighbours(near, OPTIONS)):
        assert share.mean is None or np.isfinite(share.mean)
        assert share.mean is not None or share.reason


def test_where_it_makes_no_sense_there_is_nothing(synthetic_latents):
    latents = synthetic_latents(n=40)
    several = replace(latents, label=np.zeros((40, 3)))
    assert neighbourhoods(several, OPTIONS) is None
    one_patient = replace(latents, group=np.zeros(40, dtype=np.int64))
    assert neighbourhoods(one_patient, OPTIONS) is None


def test_constant_latents_and_one_class_do_no_harm(synthetic_latents):
    latents = synthetic_latents(n=40, classes=1)
    shares = shares_in(measured(latents))
    assert shares[SAME_DOMAIN].reason
    assert shares[SAME_BOTH].mean + shares[SAME_CLASS].mean == pytest.approx(1)
    same = np.ones_like(latents.z)
    constant = replace(latents, views={"original": View(same, same)})
    assert where(measured(constant), queries="training")


def test_images_without_a_domain_are_counted_apart(synthetic_latents):
    latents = synthetic_latents(n=60)
    latents.z[7] = 0
    latents.domain[[7, 20, 30]] = ""
    found = neighbourhoods(latents, OPTIONS)
    assert (found.left_out, found.nowhere, found.gallery) == (1, 2, 57)
    nowhere = neighbourhoods(synthetic_latents(n=60, domains=(), unseen=()), OPTIONS)
    assert (nowhere.left_out, nowhere.nowhere, nowhere.gallery) == (0, 0, 60)
