"""Alignment and uniformity against loops over all pairs."""

from itertools import permutations

import numpy as np
import pytest

from medldr.evaluation.metrics import representation
from medldr.evaluation.metrics.representation import alignment, uniformity


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
    assert alignment(z, label) == pytest.approx(np.mean(per_item), abs=1e-12)


def test_uniformity_is_the_log_of_the_mean_over_pairs(latents, monkeypatch):
    z, _ = latents
    unit = on_the_sphere(z)
    pairs = [np.exp(-2 * ((unit[i] - unit[j]) ** 2).sum()) for i, j in permutations(range(17), 2)]
    assert uniformity(z) == pytest.approx(np.log(np.mean(pairs)), abs=1e-12)
    monkeypatch.setattr(representation, "CHUNK", 40)  # two rows at a time
    assert uniformity(z) == pytest.approx(np.log(np.mean(pairs)), abs=1e-12)


def test_the_scale_of_latents_does_not_count(latents):
    z, label = latents
    longer = z * np.linspace(1, 9, len(z))[:, None]
    assert alignment(longer, label) == pytest.approx(alignment(z, label), abs=1e-6)
    assert uniformity(longer) == pytest.approx(uniformity(z), abs=1e-6)


def test_too_few_items_are_undefined():
    one = np.ones((1, 3))
    assert uniformity(one) is None
    assert alignment(np.eye(3), np.arange(3)) is None
    assert alignment(np.ones((4, 3)), np.zeros(4, dtype=int)) == pytest.approx(0, abs=1e-15)


def test_a_latent_without_direction_is_refused():
    with pytest.raises(ValueError, match="zero or not finite"):
        uniformity(np.zeros((3, 2)))
