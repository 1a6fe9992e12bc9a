"""Latents of length one and the closeness of their pairs, against plain loops."""

import numpy as np
import pytest

from medldr.evaluation.representation.sphere import closeness, unit_length


@pytest.fixture
def latents():
    return np.random.default_rng(2).normal(size=(17, 5)).astype(np.float32)


def test_closeness_is_that_of_each_pair(latents):
    unit = unit_length(latents)
    for i, j in np.ndindex(17, 17):
        near = 0.0 if i == j else np.exp(-2 * ((unit[i] - unit[j]) ** 2).sum())
        assert closeness(unit)[i, j] == pytest.approx(near, abs=1e-12)
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert np.log(closeness(opposite)[0, 1]) == pytest.approx(-8, abs=1e-12)


def test_the_scale_of_latents_does_not_count(latents):
    longer = latents * np.geomspace(1e-30, 1e30, len(latents))[:, None]
    assert unit_length(longer) == pytest.approx(unit_length(latents), abs=1e-6)
    assert np.linalg.norm(unit_length(latents * 1e-30), axis=1) == pytest.approx(
        np.ones(17), abs=1e-12
    )


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_a_latent_without_direction_is_refused(bad):
    z = np.ones((3, 2))
    z[1] = bad
    with pytest.raises(ValueError, match="zero or not finite"):
        unit_length(z)
