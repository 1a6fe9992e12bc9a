"""Alignment and uniformity against loops over all pairs."""

from itertools import permutations

import numpy as np
import pytest

from medldr.evaluation.representation import sphere
from medldr.evaluation.representation.sphere import alignment, uniformity, unit_length

WEIGHTINGS = ("items", "pairs", "classes")


@pytest.fixture
def latents():
    rng = np.random.default_rng(2)
    return rng.normal(size=(17, 5)).astype(np.float32), np.array([0] * 9 + [1] * 5 + [2] * 2 + [3])


def on_the_sphere(z):
    z = z.astype(np.float64)
    return z / np.sqrt((z**2).sum(axis=1))[:, None]


def test_alignment_is_the_mean_over_partners_within_the_class(latents):
    z, label = latents
    unit, per_item = on_the_sphere(z), []
    for i in range(len(z)):
        partners = [j for j in range(len(z)) if j != i and label[j] == label[i]]
        if partners:
            per_item.append(np.mean([((unit[i] - unit[j]) ** 2).sum() for j in partners]))
    assert alignment(z, label).mean == pytest.approx(np.mean(per_item), abs=1e-12)


def test_classes_count_by_their_pairs_or_all_alike(latents):
    z, label = latents
    unit = on_the_sphere(z)
    by_class = [
        [((unit[i] - unit[j]) ** 2).sum() for i, j in permutations(np.flatnonzero(label == k), 2)]
        for k in range(3)
    ]
    every = [value for values in by_class for value in values]
    found = alignment(z, label, weighting="pairs").mean
    assert found == pytest.approx(np.mean(every), abs=1e-12)
    found = alignment(z, label, weighting="classes").mean
    assert found == pytest.approx(np.mean([np.mean(values) for values in by_class]), abs=1e-12)
    assert alignment(z, label).mean != pytest.approx(found, abs=1e-3)


def test_uniformity_is_the_log_of_the_mean_over_pairs(latents):
    z, _ = latents
    unit = on_the_sphere(z)
    for t in (2.0, 0.5):
        near = [
            np.exp(-t * ((unit[i] - unit[j]) ** 2).sum()) for i, j in permutations(range(17), 2)
        ]
        assert uniformity(z, t).mean == pytest.approx(np.log(np.mean(near)), abs=1e-12)


@pytest.mark.parametrize("chunk", [1, 20, 40, 85, 10**6])
def test_chunks_give_the_same_numbers(latents, monkeypatch, chunk):
    z, label = latents
    whole = {weighting: alignment(z, label, weighting=weighting).mean for weighting in WEIGHTINGS}
    spread = uniformity(z).mean
    monkeypatch.setattr(sphere, "CHUNK", chunk)
    for weighting in WEIGHTINGS:
        found = alignment(z, label, weighting=weighting).mean
        assert found == pytest.approx(whole[weighting], abs=1e-12)
    assert uniformity(z).mean == pytest.approx(spread, abs=1e-12)


def test_the_scale_of_latents_does_not_count(latents):
    z, label = latents
    longer = z * np.geomspace(1e-30, 1e30, len(z))[:, None]
    assert alignment(longer, label).mean == pytest.approx(alignment(z, label).mean, abs=1e-6)
    assert uniformity(longer).mean == pytest.approx(uniformity(z).mean, abs=1e-6)
    assert np.linalg.norm(unit_length(z * 1e-30), axis=1) == pytest.approx(np.ones(17), abs=1e-12)


def test_tight_classes_lose_no_digits():
    rng = np.random.default_rng(0)
    z = np.array([1.0, 2.0, 2.0]) + 1e-7 * rng.normal(size=(50, 3))
    unit = z / np.linalg.norm(z, axis=1, keepdims=True)
    pairs = [((unit[i] - unit[j]) ** 2).sum() for i, j in permutations(range(50), 2)]
    assert alignment(z, np.zeros(50, int)).mean == pytest.approx(np.mean(pairs), rel=1e-6)


def test_too_few_items_are_undefined():
    one = np.ones((1, 3))
    assert uniformity(one).mean is None
    assert uniformity(one).reason == sphere.TOO_FEW
    assert alignment(np.eye(3), np.arange(3)).reason == sphere.NO_PAIR
    assert alignment(np.ones((4, 3)), np.zeros(4, dtype=int)).mean == pytest.approx(0, abs=1e-15)
    assert uniformity(np.ones((4, 3))).mean == pytest.approx(0, abs=1e-14)
    both = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert uniformity(both).mean == pytest.approx(-8, abs=1e-12)
    assert alignment(both, np.zeros(2, dtype=int)).mean == pytest.approx(4, abs=1e-12)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_latent_without_direction_is_refused(bad):
    z = np.ones((3, 2))
    z[1] = bad
    with pytest.raises(ValueError, match="zero or not finite"):
        uniformity(z)
    with pytest.raises(ValueError, match="zero or not finite"):
        alignment(z, np.zeros(3, dtype=int))
