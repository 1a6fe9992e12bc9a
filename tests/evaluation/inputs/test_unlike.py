"""Distances from training images, against NumPy, and how often they warn of what."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.covariance import LedoitWolf

import medldr
from medldr import plugins
from medldr.errors import InputError
from medldr.evaluation.inputs.unlike import (
    Centre,
    centre_of,
    distances,
    features,
    measured_stages,
    threshold_of,
)
from medldr.models import build_model
from medldr.types import DataSpec

REAL_DATA = Path(__file__).parents[4] / "shared" / "data"


def _draws(seed, count, dim=5):
    random = np.random.default_rng(seed)
    mix = np.random.default_rng(7).normal(size=(dim, dim))
    return (random.normal(size=(count, dim)) @ mix + 3).astype(np.float32)


def test_distances_are_those_of_the_definition():
    train, new = _draws(0, 300), _draws(1, 20)
    centre = centre_of(train)
    mean, sd = train.astype(np.float64).mean(0), train.astype(np.float64).std(0)
    covariance = LedoitWolf(assume_centered=True).fit((train - mean) / sd).covariance_
    for row, found in zip(new, distances(centre, new).tolist(), strict=True):
        away = (row.astype(np.float64) - mean) / sd
        assert found == pytest.approx(np.sqrt(away @ np.linalg.inv(covariance) @ away), rel=1e-9)


def test_features_that_never_change_do_no_harm():
    train = _draws(0, 300)
    train[:, 2] = 4
    centre = centre_of(train)
    assert np.isfinite(distances(centre, train)).all()


def test_a_centre_is_read_as_it_was_written():
    centre = centre_of(_draws(0, 50))
    again = Centre.from_tensors(centre.tensors())
    for one, other in zip(centre, again, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="does not hold what it should"):
        Centre.from_tensors({"mean": torch.zeros(3)})


def test_of_images_like_the_held_back_ones_no_more_than_the_share_are_beyond():
    """Split-conformal: over many draws the rate is at most one minus the share."""
    beyond = []
    for seed in range(300):
        found = np.random.default_rng(seed).gamma(2.0, size=121)
        beyond.append(found[-1] > threshold_of(found[:-1], 0.95))
    assert 0.02 < np.mean(beyond) < 0.08
    assert threshold_of(np.array([2.0]), 0.95) == 2.0


@pytest.mark.parametrize("name", ["resnet18", "densenet121"])
def test_features_are_the_averages_of_the_first_stages(name):
    spec = DataSpec("multi-class", ("a", "b"), (1, 1), 1, (32, 32))
    config = plugins.load("models", name).Config(name=name, width=0.125)
    model = build_model(config, spec, seed=0).eval()
    image = torch.rand(3, 1, 32, 32)
    stages = measured_stages(model)
    assert stages == model.stages[:-2]
    outputs = {}
    taps = {s: (lambda value, s=s: outputs.setdefault(s, value)) for s in stages}
    with torch.inference_mode():
        logits, found = features(model, image, stages)
        plain = model(image)
        model.features(image, taps)
    torch.testing.assert_close(logits, plain)
    expected = [outputs[s].double().mean((2, 3)).numpy() for s in stages]
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), atol=1e-5)


@pytest.mark.slow
@pytest.mark.auto_precision
def test_a_third_laboratory_is_noticed_and_held_back_images_are_not(tmp_path):
    """Real blood cells: all of an unseen laboratory, hardly any of those that were trained on."""
    source = REAL_DATA / "wbc3"
    if not source.exists():
        pytest.skip(f"real data is absent: {source}")
    config = {
        "extends": ["recipe/own_microscopy", "algorithm/erm", "data/table"],
        "data": {
            "file": str(source / "labels.csv"), "path": "image", "domain": "domain", "size": 96,
            "held_out": ["bccd"],
        },
    }  # fmt: skip
    small = [
        "model.width=0.125", "training.epochs=3", "evaluation.draws=100", "machine.report=false",
        "machine.threads=1", "machine.device=cpu",
    ]  # fmt: skip
    run = medldr.train(config, small, tmp_path).folder
    found = medldr.predict(run, source / "labels.csv", path_column="image")
    warned = dict(zip(found.names, map(bool, found.warnings), strict=True))
    splits = _splits(Path(run) / "splits.json")
    rates = {name: np.mean([warned[item] for item in ids]) for name, ids in splits.items()}
    assert rates["test"] >= 0.9
    assert rates["id_test"] <= 0.05


def _splits(path):
    import json

    return json.loads(path.read_text())["splits"]
