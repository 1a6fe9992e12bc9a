"""Pictures of a patient, through an encoder, are one answer."""

import csv

import numpy as np
import pytest
from PIL import Image

import medldr
from medldr.datasets.features import Config, load


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Three pictures of each of 24 patients, of whom half are brighter in one of them."""
    root = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    rows = []
    for patient, number in np.ndindex(24, 3):
        values = random.integers(0, 120, (24, 24, 3), dtype=np.uint8)
        ill = patient % 2
        values += np.uint8(100 * (ill and number == patient % 3))
        name = f"p{patient}_{number}.png"
        Image.fromarray(values).save(root / name)
        rows.append({"path": name, "label": "ab"[ill], "patient": f"p{patient}", "number": number})
    with (root / "pictures.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return root


@pytest.fixture(scope="module")
def latents(pictures):
    source = {
        "extends": ["recipe/own_2d", "data/table", "algorithm/erm"],
        "data": {"file": str(pictures / "pictures.csv"), "group": "patient", "size": 24},
        "model": {"name": "resnet18", "width": 0.0625},
        "transform": {"size": 24},
        "machine": {"device": "cpu"},
    }
    return medldr.features(source, out=pictures / "latents").folder


@pytest.mark.parametrize("bag", ["attention", "mean"])
def test_patients_are_items_and_new_pictures_are_bags_of_one(pictures, latents, bag, tmp_path):
    study = {
        "extends": ["recipe/own_features", "data/features", "algorithm/latentdr_sa"],
        "data": {"root": str(latents), "bag": bag, "bag_by": "group"},
        "training": {"steps": 20, "evaluate_every": 10, "batch_size": 8},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu", "threads": 1},
    }
    run = medldr.train(study, out=tmp_path / "runs")
    assert not any(verdict.differs for verdict in medldr.verify(run.folder).runs)
    with (run.folder / "predictions.csv").open() as file:
        stored = {row["id"]: float(row["prob_b"]) for row in csv.DictReader(file)}
    assert stored.keys() < {f"p{n}" for n in range(24)}
    of_pictures = load(Config(root=latents))
    for patient in stored:
        np.save(tmp_path / f"{patient}.npy", of_pictures.images[of_pictures.groups == patient])
    answers = medldr.predict(run.folder, [tmp_path / f"{patient}.npy" for patient in stored])
    assert np.allclose(answers.prob[:, 1], list(stored.values()), atol=1e-6)
    np.save(tmp_path / "one.npy", of_pictures.images[0])
    pair = medldr.predict(run.folder, [pictures / "p0_0.png", tmp_path / "one.npy"])
    assert np.allclose(*pair.prob, atol=1e-5)
    assert any("together" in note for note in pair.notes)
