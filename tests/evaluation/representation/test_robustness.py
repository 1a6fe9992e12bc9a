"""The robustness index against a loop, and what it is where only class or domain matters."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from medldr.evaluation.representation.frame import RECOVERED, Options, number, where
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.neighbours import robustness

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


def measured(latents, options=OPTIONS, **more):
    options = replace(options, **more)
    near = neighbourhoods(latents, options)
    return [] if near is None else robustness(near, options)


def test_the_index_is_that_of_a_count_by_hand(synthetic_latents):
    latents = synthetic_latents(n=140, apart=0.6)
    latents = latents.select(np.delete(np.arange(140), np.flatnonzero(latents.label == 1)[::2]))
    found = measured(latents)
    assert {line["queries"] for line in found} == {"all", "training", "seen", "unseen"}
    for name, mask in (("all", np.ones(len(latents), bool)), ("unseen", latents.unseen)):
        rows = np.flatnonzero(mask)
        weights = weights_of([(int(latents.label[i]), str(latents.domain[i])) for i in rows])
        part = where(found, queries=name)
        assert {line["n"] for line in part} == {len(rows)}
        for view in latents.views:
            index = number(part, latents=view)
            expected = by_hand(latents, view, rows, 6, weights)
            assert index.mean == pytest.approx(expected, abs=1e-12)
            assert index.low < index.mean < index.high
        restored, degraded = (number(part, latents=view) for view in ("restored", "degraded"))
        recovered = number(part, latents=RECOVERED)
        assert recovered.mean == pytest.approx(restored.mean - degraded.mean)


def test_at_random_it_is_what_all_possible_neighbours_would_give(synthetic_latents):
    latents = synthetic_latents(n=60, per_group=3)
    (everyone,) = where(measured(latents, neighbours=60), queries="all", latents="degraded")
    # With all images as neighbours of each other, nothing of the latents is left.
    assert everyone["held"].mean == pytest.approx(everyone["at_random"], abs=1e-12)
    (few,) = where(measured(latents, neighbours=2), queries="all", latents="degraded")
    cells = [(int(k), str(d)) for k, d in zip(latents.label, latents.domain, strict=True)]
    weights = weights_of(cells)
    rows, units = range(len(latents)), latents.units
    so = os = 0.0
    for i in rows:
        others = [j for j in rows if units[j] != units[i]]
        alike = [latents.label[j] == latents.label[i] for j in others]
        same = [latents.domain[j] == latents.domain[i] for j in others]
        both = list(zip(alike, same, strict=True))
        so += weights[i] * sum(a and not s for a, s in both) / len(others)
        os += weights[i] * sum(s and not a for a, s in both) / len(others)
    assert few["at_random"] == pytest.approx(so / (so + os), abs=1e-12)


def test_it_is_1_where_class_and_0_where_domain_orders_latents(synthetic_latents):
    of_class, of_domain = (
        number(measured(synthetic_latents(apart=apart, shift=9.0 - apart), neighbours=3),
               queries="all", latents="original")
        for apart in (9.0, 0.0)
    )  # fmt: skip
    assert (of_class.mean, of_domain.mean) == (1, 0)
    # One number in every draw: said, not an interval without width.
    assert of_class.low is None


def test_latents_of_noise_are_at_the_level_of_chance(synthetic_latents):
    latents = synthetic_latents(n=600, apart=0.0, shift=0.0, per_group=0)
    (line,) = where(measured(latents, draws=400), queries="all", latents="original")
    assert line["held"].low < line["at_random"] < line["held"].high


def test_queries_that_cannot_have_both_kinds_do_not_count(synthetic_latents):
    latents = synthetic_latents(n=120, classes=3)
    alone = (latents.label == 2) & (latents.domain != "a")  # class 2 is in domain a alone
    latents = latents.select(~alone)
    counted = {line["n"] for line in where(measured(latents), queries="all")}
    assert counted == {int((latents.label != 2).sum())}


def test_where_it_makes_no_sense_there_is_nothing(synthetic_latents):
    for made in (
        synthetic_latents(n=40, domains=(), unseen=()),
        synthetic_latents(n=40, domains=("a",), unseen=()),
        synthetic_latents(n=40, classes=1),
    ):
        assert measured(made) == []


@pytest.mark.parametrize("n", [3, 12])
@pytest.mark.parametrize("per_group", [0, 3])
def test_few_images_give_numbers_or_reasons(synthetic_latents, n, per_group):
    for line in measured(synthetic_latents(n=n, per_group=per_group), neighbours=1):
        index = line["held"]
        assert np.isfinite(index.mean) if index.mean is not None else index.reason
