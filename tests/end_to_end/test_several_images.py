"""T2 and ADC, or two views, of which one alone shows the finding: found with both, not without."""

import csv

import nibabel
import numpy as np
import onnxruntime
import pytest
import torch
from PIL import Image

import medldr as package
from medldr.prediction.items import find_items
from medldr.prediction.predict import load_runs

pytestmark = pytest.mark.slow

SMALL = [
    "model.width=0.25", "training.epochs=8", "training.batch_size=8", "training.lr=0.002",
    "evaluation.draws=200", "data.test_fraction=0.35", "data.val_fraction=0.2",
    "machine.device=cpu", "machine.threads=1", "machine.report=false", "training.precision=float32",
]  # fmt: skip
PATIENTS = 72
NAMES = ("no", "yes")


@pytest.fixture(scope="module")
def volumes(tmp_path_factory):
    """T2 and ADC, ADC on a coarser grid that lies elsewhere; the finding is in ADC alone."""
    folder = tmp_path_factory.mktemp("volumes")
    rows = [["t2w", "adc", "label", "patient"]]
    for n in range(PATIENTS):
        random, label = np.random.default_rng(n), n % 2
        t2w = random.normal(100, 20, (16, 16, 10)).astype(np.float32)
        adc = random.normal(1000, 100, (10, 10, 12)).astype(np.float32)
        adc[3:7, 3:7, 4:8] -= 600 * label
        affine = np.diag([2.0, 2.0, 2.0, 1.0])
        affine[:3, 3] = (-1.5, -1.5, -2.0)
        nibabel.save(
            nibabel.Nifti1Image(t2w, np.diag([1.0, 1.0, 2.0, 1.0])), folder / f"{n}_t2w.nii.gz"
        )
        nibabel.save(nibabel.Nifti1Image(adc, affine), folder / f"{n}_adc.nii.gz")
        rows.append([f"{n}_t2w.nii.gz", f"{n}_adc.nii.gz", NAMES[label], f"p{n}"])
    return _table(folder, rows)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two views of each patient, the finding in the second alone; some have no first."""
    folder = tmp_path_factory.mktemp("pictures")
    rows = [["front", "side", "label", "patient"]]
    for n in range(PATIENTS):
        random, label = np.random.default_rng(n), n % 2
        front, side = random.integers(0, 90, (2, 20, 20)).astype(np.uint8)
        side[6:14, 7:15] += 110 * np.uint8(label)
        for name, pixels in (("front", front), ("side", side)):
            Image.fromarray(pixels).save(folder / f"{n}_{name}.png")
        front = "" if n % 9 == 4 else f"{n}_front.png"
        rows.append([front, f"{n}_side.png", NAMES[label], f"p{n}"])
    return _table(folder, rows)


def _table(folder, rows):
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return folder


def _train(folder, recipe, path, table="t.csv", **data):
    config = {
        "extends": [recipe, "algorithm/erm", "data/table"],
        "data": {"file": str(folder / table), "group": "patient", "path": path, **data},
    }
    return package.train(config, SMALL, folder / "runs")


@pytest.fixture(scope="module")
def channels(volumes):
    return _train(volumes, "recipe/own_3d", ["t2w", "adc"])


@pytest.fixture(scope="module")
def views(pictures):
    return _train(pictures, "recipe/own_2d", ["front", "side"], on_missing="zeros")


def _at_chance(result):
    row = result.scored.scores.row("test", "auc")
    return row.low < 0.5 < row.high


def test_the_finding_in_a_channel_is_found_with_it_and_not_without(channels, volumes):
    assert channels.metrics["test/auc"] > 0.9
    assert _at_chance(_train(volumes, "recipe/own_3d", "t2w"))


def test_the_finding_in_a_view_is_found_with_it_and_not_without(views, pictures):
    assert views.metrics["test/auc"] > 0.9
    assert any("missing" in key for key in views.metrics)  # results are divided by the flag
    with (pictures / "t.csv").open() as file:
        rows = [row for row in csv.reader(file) if row[0]]
    with (pictures / "front.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert _at_chance(_train(pictures, "recipe/own_2d", "front", "front.csv"))


@pytest.mark.parametrize("kind", ["channels", "views"])
def test_prediction_maps_and_export_go_the_same_way(kind, request, medldr, tmp_path):
    result = request.getfixturevalue(kind)
    folder = request.getfixturevalue("volumes" if kind == "channels" else "pictures")
    wanted = ("--out", tmp_path / "p.csv", "--explain", tmp_path / "e")
    ended = medldr("predict", result.folder, folder / "t.csv", *wanted)
    assert ended.code == 0, ended.err
    with (result.folder / "predictions.csv").open() as file:
        own = {row["id"]: float(row["prob_yes"]) for row in csv.DictReader(file)}
    with (tmp_path / "p.csv").open() as file:
        told = {row["path"]: row for row in csv.DictReader(file)}
    assert len(told) == PATIENTS
    for name, prob in own.items():
        assert float(told[name]["prob_yes"]) == pytest.approx(prob, abs=1e-5)
    lacking = [name for name, row in told.items() if "front is missing" in row["warnings"]]
    assert len(lacking) == (8 if kind == "views" else 0)
    with (
        Image.open(tmp_path / "e" / "0001.png") as drawn,
        Image.open(tmp_path / "e" / "0002.png") as other,
    ):
        assert drawn.size == other.size
        assert drawn.height > 1.5 * drawn.width / (3 if kind == "channels" else 2)
    (loaded,) = load_runs(result.folder)
    items = find_items([folder / "t.csv"], len(loaded.shape) - 1, images=loaded.reader.images)
    stored = np.stack([loaded.reader.read(one.source).image for one in items]).astype(np.float32)
    predicted = [float(told[one.name]["prob_yes"]) for one in items]
    for form in ("torch", "onnx"):
        out, checked = tmp_path / form, ("--check", folder / "t.csv")
        ended = medldr("export", result.folder, "--format", form, "--out", out, *checked)
        assert ended.code == 0, ended.err
        if form == "onnx":
            session = onnxruntime.InferenceSession(str(out / "model.onnx"))
            given = session.run(None, {"image": stored})[1]
        else:
            program = torch.export.load(out / "model.pt2").module()
            given = program(torch.from_numpy(stored))[1].detach().numpy()
        np.testing.assert_allclose(given[:, 1], predicted, atol=2e-6)
    card = (tmp_path / "torch" / "README.md").read_text("utf-8")
    assert f"the images {'t2w, adc' if kind == 'channels' else 'front, side'} one after" in card
    refused = medldr("export", result.folder, "--format", "bundle", "--out", tmp_path / "b")
    assert refused.code == 2
    assert "one file per item" in refused.err


def test_an_item_without_an_image_is_answered_only_where_training_had_such(channels, volumes):
    image = str(volumes / "0_t2w.nii.gz")
    answers = package.predict(channels.folder, [(image, None)])
    assert "no adc" in answers.unreadable[0].reason
    arrays = [np.zeros((16, 16, 10), np.float32), np.zeros((10, 10, 12), np.float32)]
    answers = package.predict(channels.folder, [arrays])
    assert "not both say" in answers.unreadable[0].reason
