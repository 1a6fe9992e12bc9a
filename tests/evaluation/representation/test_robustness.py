"""The robustness index against a loop, and what it is where only class or domain matters."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.robustness import robustness

OPTIONS = Options(neighbours=6, draws=200)


def by_hand(latents, view, rows, k, weights):
    """SO / (SO + OS) by scikit-learn's search, each query with its weight."""
    search = NearestNeighbors(n_neighbors=len(latents), metric="cosine", algorithm="brute")
    search.fit(latents.z.astype(float))
    order = search.kneighbors(latents.views[view].z[rows].astype(float), return_distance=False)
    units, so, os = latents.units, 0.0, 0.0
    for row, near, weight in zip(rows, order, weights, strict=True):
        for i in [i for i in near if units[i] != units[row]][:k]:
            alike = latents.label[i] == latents.label[row]
            same = latents.domain[i] == latents.domain[row]
            so += weight * (alike and not same)
            os += weight * (same and not alike)
    return so / (so + os)


def weights_of(keys):
    """One over the number of queries with the same key."""
    return [1 / keys.count(key) for key in keys]


def keys_of(latents, rows, kind):
    if kind == "images":
        return [0 for _ in rows]
    pairs = [(int(latents.label[i]), str(latents.domain[i])) for i in rows]
    return pairs if kind == "cells" else [label for label, _ in pairs]


@pytest.mark.parametrize("kind", ["cells", "classes", "images"])
def test_the_index_is_that_of_a_count_by_hand(synthetic_latents, kind):
    latents = synthetic_latents(n=140, apart=0.6)
    latents = latents.select(np.delete(np.arange(140), np.flatnonzero(latents.label == 1)[::2]))
    found = robustness(latents, OPTIONS, weights=kind)
    assert list(found.parts) == ["all", "training", "seen", "unseen"]
    for name, mask in (("all", np.ones(len(latents), bool)), ("unseen", latents.unseen)):
        rows = np.flatnonzero(mask)
        weights = weights_of(keys_of(latents, rows, kind))
        part = found.parts[name]
        assert part.n == len(rows)
        for view, index in part.views.items():
            expected = by_hand(latents, view, rows, 6, weights)
            assert index.mean == pytest.approx(expected, abs=1e-12)
            assert index.low < index.mean < index.high
        expected = part.views["restored"].mean - part.views["degraded"].mean
        assert part.recovered.mean == pytest.approx(expected)


def test_at_random_it_is_what_all_possible_neighbours_would_give(synthetic_latents):
    latents = synthetic_latents(n=60, per_group=3)
    everyone = robustness(latents, OPTIONS, weights="images", k=60).parts["all"]
    # With all images as neighbours of each other, nothing of the latents is left.
    assert everyone.views["degraded"].mean == pytest.approx(everyone.chance, abs=1e-12)
    few = robustness(latents, OPTIONS, weights="images", k=2).parts["all"].chance
    rows, units = range(len(latents)), latents.units
    so = os = 0.0
    for i in rows:
        others = [j for j in rows if units[j] != units[i]]
        alike = [latents.label[j] == latents.label[i] for j in others]
        same = [latents.domain[j] == latents.domain[i] for j in others]
        so += sum(a and not s for a, s in zip(alike, same, strict=True)) / len(others)
        os += sum(s and not a for a, s in zip(alike, same, strict=True)) / len(others)
    assert few == pytest.approx(so / (so + os), abs=1e-12)


def test_it_is_1_where_class_and_0_where_domain_orders_latents(synthetic_latents):
    of_class = robustness(synthetic_latents(apart=9.0, shift=0.0), OPTIONS, k=3)
    of_domain = robustness(synthetic_latents(apart=0.0, shift=9.0), OPTIONS, k=3)
    assert of_class.parts["all"].views["original"].mean == 1
    assert of_domain.parts["all"].views["original"].mean == 0
    # One number in every draw: said, not an interval without width.
    assert of_class.parts["all"].views["original"].low is None


def test_latents_of_noise_are_at_the_level_of_chance(synthetic_latents):
    latents = synthetic_latents(n=600, apart=0.0, shift=0.0, per_group=0)
    part = robustness(latents, replace(OPTIONS, draws=400)).parts["all"]
    index = part.views["original"]
    assert index.low < part.chance < index.high


def test_queries_that_cannot_have_both_kinds_do_not_count(synthetic_latents):
    latents = synthetic_latents(n=120, classes=3)
    alone = (latents.label == 2) & (latents.domain != "a")  # class 2 is in domain a alone
    latents = latents.select(~alone)
    found = robustness(latents, OPTIONS)
    assert found.parts["all"].n == int((latents.label != 2).sum())


def test_where_it_makes_no_sense_there_is_nothing(synthetic_latents):
    for made in (
        synthetic_latents(n=40, domains=(), unseen=()),
        synthetic_latents(n=40, domains=("a",), unseen=()),
        synthetic_latents(n=40, classes=1),
        synthetic_latents(n=1),
        replace(synthetic_latents(n=40), label=np.zeros((40, 2))),
    ):
        assert robustness(made, OPTIONS) is None


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("per_group", [0, 3])
def test_few_images_give_numbers_or_reasons(synthetic_latents, n, per_group):
    found = robustness(synthetic_latents(n=n, per_group=per_group), OPTIONS, k=1)
    for part in found.parts.values() if found else ():
        for index in (*part.views.values(), part.recovered):
            assert np.isfinite(index.mean) if index.mean is not None else index.reason


def test_a_search_can_be_shared(synthetic_latents):
    latents = synthetic_latents(n=80)
    near = neighbourhoods(latents, OPTIONS)
    assert robustness(latents, OPTIONS, near=near) == robustness(latents, OPTIONS)
