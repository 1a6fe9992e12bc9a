"""Images reach a run on stored latents through the encoder that made these, and no other."""

import shutil

import nibabel
import numpy as np
import onnxruntime
import pytest
import torch

import medldr
from medldr.config import load_config
from medldr.data import build_data
from medldr.encoding.encoder import WEIGHTS
from medldr.errors import InputError
from medldr.evaluation.predictions.table import read_predictions

NAME, CHANGES = "phantom_fracture_erm", ["data.patients=24", "model.width=0.0625", "seed=3"]
ROWS = range(6)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Files of some images that latents were made of."""
    folder = tmp_path_factory.mktemp("images")
    table = build_data(load_config(NAME, CHANGES)).table
    for row in ROWS:
        scan = nibabel.Nifti1Image(np.asarray(table.images[row])[0], np.eye(4))
        nibabel.save(scan, folder / f"{row}.nii")
    return folder


@pytest.fixture(scope="module")
def latents(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("latents")
    values = np.load(stored.folder / "images.npy")
    for row in ROWS:
        np.save(folder / f"{row}.npy", values[row])
    return folder


@pytest.fixture(scope="module")
def wanted(run, latents):
    return medldr.predict(run.folder, [latents / f"{row}.npy" for row in ROWS]).prob


def test_images_are_answered_as_their_stored_latents(run, images, wanted):
    files = [images / f"{row}.nii" for row in ROWS]
    assert np.abs(medldr.predict(run.folder, files).prob - wanted).max() < 1e-6
    arrays = [np.asarray(nibabel.load(file).dataobj) for file in files]
    assert np.abs(medldr.predict(run.folder, arrays).prob - wanted).max() < 1e-6
    assert len(medldr.predict(run.folder, images)) == len(ROWS)


def test_a_run_that_was_moved_is_told_where_the_encoder_is(run, stored, images, wanted, tmp_path):
    moved = shutil.copytree(run.folder, tmp_path / run.folder.name)
    config = moved / "config.yaml"
    config.write_text(config.read_text().replace(str(stored.folder), str(tmp_path / "gone")))
    kept = shutil.copytree(stored.folder / "encoder", tmp_path / "kept")
    with pytest.raises(InputError, match=r"not where they were.*encoder"):
        medldr.predict(moved, [images / "0.nii"])
    for place in (stored.folder, kept):
        answers = medldr.predict(moved, [images / "0.nii"], encoder=place)
        assert np.abs(answers.prob - wanted[:1]).max() < 1e-6


def test_another_or_a_damaged_encoder_is_refused(run, stored, images, tmp_path):
    other = medldr.features(NAME, [*CHANGES[:-1], "seed=4"], tmp_path / "other")
    with pytest.raises(InputError, match="not the encoder of the run's latents: its weights"):
        medldr.predict(run.folder, [images / "0.nii"], encoder=other.folder)
    size = medldr.features(NAME, [*CHANGES, "transform=scan"], tmp_path / "rule")
    with pytest.raises(InputError, match="how it reads images"):
        medldr.predict(run.folder, [images / "0.nii"], encoder=size.folder)
    copy = shutil.copytree(stored.folder / "encoder", tmp_path / "copy")
    (copy / WEIGHTS).write_bytes((copy / WEIGHTS).read_bytes()[:-1] + b"!")
    with pytest.raises(InputError, match=r"was changed.*medldr features"):
        medldr.predict(run.folder, [images / "0.nii"], encoder=copy)
    with pytest.raises(InputError, match="holds no encoder"):
        medldr.predict(run.folder, [images / "0.nii"], encoder=images)


def test_a_folder_without_its_encoder_is_given_it_again(stored, tmp_path):
    copy = shutil.copytree(stored.folder, tmp_path / "copy")
    shutil.rmtree(copy / "encoder")
    assert medldr.features(NAME, CHANGES, copy).made == "there"
    for name in ("model.safetensors", "network.json", "preprocessing.json"):
        assert (copy / "encoder" / name).read_bytes() == (
            stored.folder / "encoder" / name
        ).read_bytes()


@pytest.mark.slow
def test_another_site_is_scored_on_its_images(run, images, wanted, tmp_path):
    table = build_data(load_config(NAME, CHANGES)).table
    names = [table.class_names[int(table.labels[row])] for row in ROWS]
    rows = [f"{images / f'{row}.nii'},{name}\n" for row, name in zip(ROWS, names, strict=True)]
    (tmp_path / "site.csv").write_text("path,label\n" + "".join(rows))
    done = medldr.validate(run.folder, tmp_path / "site.csv", out=tmp_path / "out", keep_seen=True)
    found = read_predictions(done.folder / "predictions.csv")
    prob = found.select(found.split == "test").prob
    assert np.abs(prob - wanted).max() < 1e-5
    assert any("may be among those scored" in note for note in done.notes)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["onnx", "torch"])
def test_encoder_and_head_become_one_file_that_takes_images(
    run, stored, images, wanted, tmp_path, kind
):
    files = [images / f"{row}.nii" for row in ROWS]
    made = medldr.export(run.folder, kind, tmp_path / "out", check=files)
    pixels = np.stack([np.asarray(nibabel.load(file).dataobj)[None] for file in files])
    assert np.abs(_answers(made.folder, kind, pixels) - wanted).max() < 1e-4
    assert not any("no images" in limit for limit in made.limits)
    card = (made.folder / "README.md").read_text()
    assert "a frozen resnet18, and a head on its latents" in card
    assert f"encoder's weights: `{stored.encoder['weights']}`" in card


@pytest.mark.slow
def test_without_its_encoder_what_is_exported_takes_latents_and_says_so(
    run, stored, latents, wanted, tmp_path
):
    moved = shutil.copytree(run.folder, tmp_path / run.folder.name)
    config = moved / "config.yaml"
    config.write_text(config.read_text().replace(str(stored.folder), str(tmp_path / "gone")))
    made = medldr.export(moved, "torch", tmp_path / "out")
    assert any("no images" in limit for limit in made.limits)
    values = np.stack([np.load(latents / f"{row}.npy") for row in ROWS])
    assert np.abs(_answers(made.folder, "torch", values) - wanted).max() < 1e-4


def _answers(folder, kind, pixels):
    """Probabilities by an exported file."""
    given = pixels.astype(np.float32)
    if kind == "torch":
        program = torch.export.load(folder / "model.pt2").module()
        return program(torch.from_numpy(given))[1].detach().numpy()
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    return session.run(["probabilities"], {"image": given})[0]
