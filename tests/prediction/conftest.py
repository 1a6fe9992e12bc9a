"""Two small trained runs: volumes from NIfTI files, and pictures from PNG files."""

import csv
from pathlib import Path
from types import SimpleNamespace

import nibabel
import numpy as np
import pytest
from PIL import Image

import medldr

SMALL = [
    "model.width=0.0625", "training.epochs=1", "training.batch_size=8", "evaluation.draws=100",
    "machine.report=false", "machine.device=cpu", "machine.threads=1",
    "training.precision=float32",
]  # fmt: skip


def _table(folder, rows):
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label", "patient"], *rows])


def volume(number, label, size=12):
    """Whole numbers, brighter where the label is 1, in a box that is not symmetric."""
    values = np.random.default_rng(number).integers(0, 120, (size, size, size)).astype(np.int16)
    values[2:5, 3:8, 1:9] += 100 + 200 * label
    return values


def _train(folder, recipe, data, seed, *more):
    config = {
        "extends": [recipe, "algorithm/erm", "data/table"],
        "data": {"file": str(folder / "t.csv"), "group": "patient", **data},
    }
    given = [*SMALL, f"seed={seed}", *more]
    return Path(medldr.train(config, given, folder / "runs").folder)


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Runs and the files they were trained on; read-only."""
    patch = pytest.MonkeyPatch()
    patch.setenv("MEDLDR_CACHE", str(tmp_path_factory.mktemp("lab_cache")))
    folder = tmp_path_factory.mktemp("volumes")
    rows = []
    for number in range(40):
        label = number % 2
        image = nibabel.Nifti1Image(volume(number, label), np.diag([2.0, 2.0, 2.0, 1.0]))
        nibabel.save(image, folder / f"anna_{number}.nii.gz")
        rows.append([f"anna_{number}.nii.gz", ("well", "ill")[label], f"p{number // 2 + 1}"])
    _table(folder, rows)
    data = {"size": 12, "window": [0, 400], "cache": "off"}
    more = ("evaluation.positive_class=ill", "evaluation.recalibrate=temperature")
    more += ("evaluation.temperature_forced=true",)
    volumes = [_train(folder, "recipe/own_3d", data, seed, *more) for seed in (0, 1)]
    pictures = tmp_path_factory.mktemp("pictures")
    rows = []
    for number in range(60):
        label = number % 3
        draw = np.random.default_rng(number).integers(0, 80, (20, 24, 3)).astype(np.uint8)
        draw[4:12, 3:9, label] += 120
        Image.fromarray(draw).save(pictures / f"bob_{number}.png")
        rows.append([f"bob_{number}.png", "abc"[label], f"p{number}"])
    _table(pictures, rows)
    picture = _train(pictures, "recipe/own_microscopy", {"size": 16}, 0)
    patch.undo()
    return SimpleNamespace(
        volumes=volumes, volume_files=folder, picture=picture, picture_files=pictures
    )


@pytest.fixture(scope="session")
def labelled(lab):
    """Two runs on the pictures with three labels each; validation knows no picture of the third."""
    rows = [["path", "effusion", "nodule", "rare", "patient", "split"]]
    for n in range(60):
        split = ("train", "train", "val", "val", "test")[n // 4 % 5]
        rows.append([f"bob_{n}.png", n % 2, int(n % 4 == 0), int(n == 0), f"p{n}", split])
    with (lab.picture_files / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    data = {"size": 16, "file": str(lab.picture_files / "labels.csv"), "split": "split"}
    data["label"] = ["effusion", "nodule", "rare"]
    return [_train(lab.picture_files, "recipe/own_microscopy", data, seed) for seed in (0, 1)]


@pytest.fixture
def kept():
    """The predictions of a run by id, as it wrote them itself."""

    def read(run):
        with (run / "predictions.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name.startswith("prob_")]
        return {row["id"]: [float(row[name]) for name in names] for row in rows}

    return read
