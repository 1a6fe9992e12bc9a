"""Latents of a small data set, and a run on them; read-only."""

import pytest

import medldr


@pytest.fixture(scope="session")
def source():
    return "phantom_fracture_erm", ["data.patients=24", "model.width=0.0625", "seed=3"]


@pytest.fixture(scope="session")
def stored(source, tmp_path_factory):
    return medldr.features(*source, tmp_path_factory.mktemp("made") / "latents")


@pytest.fixture(scope="session")
def run(stored, tmp_path_factory):
    study = {
        "extends": ["recipe/own_features", "data/features", "algorithm/latentdr_sa"],
        "data": {"root": str(stored.folder)},
        "training": {"steps": 20, "evaluate_every": 10, "batch_size": 16},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu"},
    }
    return medldr.train(study, out=tmp_path_factory.mktemp("runs"))
