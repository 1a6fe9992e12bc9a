"""Augmented latents are those that a live encoder makes epoch by epoch, and training sees them."""

import json
import shutil

import numpy as np
import pytest
import torch

import medldr
from medldr.config import load_config
from medldr.data import build_data
from medldr.data.store import array
from medldr.encoding import latent_images
from medldr.errors import InputError
from medldr.folders.lifecycle import Interrupted
from medldr.models import build_model
from medldr.training.trainer import Trainer

VIEWS = 3
RANDOM = {
    "rule": ["transform=medmnist3d", "transform.shape_transform=true"],
    "list": ["transform.train=[{RandFlip: {prob: .5, spatial_axis: 0}}]"],
}


def changes(source, kind):
    return [*source[1], *RANDOM[kind]]


def live(config, epoch):
    """Latent of each training image in an epoch of a live run, by row."""
    data = build_data(config)
    model = build_model(config.model, data.spec, seed=config.seed).eval()
    loader = data.train_loader(config, sampler="shuffle", device="cpu")
    with torch.no_grad():
        return {
            row: latent
            for batch in loader.batches(epoch)
            for row, latent in zip(
                batch.index.tolist(), model.features(batch.image).numpy(), strict=True
            )
        }


@pytest.fixture(scope="session")
def augmented(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("augmented") / "latents"
    return medldr.features(source[0], changes(source, "rule"), folder, views=VIEWS)


def study(folder, **more):
    return {
        "extends": ["recipe/own_features", "data/features", "algorithm/erm"],
        "data": {"root": str(folder), "views": True},
        "training": {"steps": 20, "evaluate_every": 10, "batch_size": 16},
        "evaluation": {"draws": 100},
        "machine": {"device": "cpu"},
        **more,
    }


@pytest.mark.parametrize("kind", RANDOM)
def test_view_v_is_what_a_live_run_sees_in_epoch_v(source, augmented, tmp_path, kind):
    config = load_config(source[0], changes(source, kind))
    made = augmented
    if kind != "rule":
        made = medldr.features(source[0], changes(source, kind), tmp_path / "out", views=VIEWS)
    plain = np.load(made.folder / "images.npy")
    stored = np.load(made.folder / "views" / "images.npy").reshape(VIEWS, *plain.shape)
    assert not np.allclose(stored[0], stored[1], atol=1e-3)
    for epoch in range(VIEWS):
        wanted = live(config, epoch)
        assert len(wanted) > 10
        for row, latent in wanted.items():
            assert np.allclose(stored[epoch, row], latent, atol=1e-5)
    facts = json.loads((made.folder / "views" / "pack.json").read_text())["encoder"]
    assert (facts["views"], facts["seed"]) == (VIEWS, config.seed)
    assert facts["transform"]["name"] == config.transform.name


@pytest.mark.parametrize("more", [{}, {"transform": {"train": [{"Identity": {}}]}}])
def test_training_sees_one_after_the_other_and_evaluation_none(augmented, more):
    config = load_config(study(augmented.folder, **more))
    data = build_data(config)
    plain = np.load(augmented.folder / "images.npy")
    stored = np.load(augmented.folder / "views" / "images.npy").reshape(VIEWS, *plain.shape)
    loader = data.train_loader(config, sampler="shuffle", device="cpu")
    for epoch in range(VIEWS + 2):
        for batch in loader.batches(epoch):
            assert np.array_equal(batch.image, stored[epoch % VIEWS, batch.index])
    for split in ("train", "val", "test"):
        for batch in data.eval_loader(split, config, device="cpu"):
            assert np.array_equal(batch.image, plain[batch.index])
    again = data.train_loader(config, sampler="weighted", device="cpu")
    seen = {}
    for batch in again.batches(0):
        for row, image in zip(batch.index.tolist(), batch.image, strict=True):
            number = seen[row] = seen.get(row, -1) + 1
            assert np.array_equal(image, stored[number % VIEWS, row])
    assert max(seen.values()) > 0


def test_what_was_killed_goes_on_to_the_same_folder(source, augmented, tmp_path, monkeypatch):
    out, made = tmp_path / "out", latent_images.LatentViews._augmented

    def killed(self, view, rows):
        if view == 2:
            raise KeyboardInterrupt
        return made(self, view, rows)

    monkeypatch.setattr(array.Blocks, "of", lambda images, most=None: array.Blocks(len(images), 4))
    monkeypatch.setattr(latent_images.LatentViews, "_augmented", killed)
    with pytest.raises(KeyboardInterrupt):
        medldr.features(source[0], changes(source, "rule"), out, views=VIEWS)
    assert not out.exists()
    asked = []

    def counted(self, view, rows):
        asked.append(view)
        return made(self, view, rows)

    monkeypatch.setattr(latent_images.LatentViews, "_augmented", counted)
    medldr.features(source[0], changes(source, "rule"), out, views=VIEWS)
    assert 0 not in asked
    for name in ("images.npy", "views/images.npy", "encoder/model.safetensors"):
        assert (out / name).read_bytes() == (augmented.folder / name).read_bytes()


def test_others_are_refused_and_missing_ones_added(source, augmented, tmp_path):
    name, same = source[0], changes(source, "rule")
    assert medldr.features(name, same, augmented.folder, views=VIEWS).made == "there"
    with pytest.raises(InputError, match=r"other latents: views differ.*force"):
        medldr.features(name, same, augmented.folder, views=2)
    with pytest.raises(InputError, match="no random step"):
        medldr.features(*source, tmp_path / "none", views=2)
    copy = shutil.copytree(augmented.folder, tmp_path / "copy")
    shutil.rmtree(copy / "views")
    with pytest.raises(InputError, match=r"data\.views: .*holds no augmented latents"):
        build_data(load_config(study(copy)))
    medldr.features(name, same, copy, views=VIEWS)
    assert (copy / "views" / "images.npy").read_bytes() == (
        augmented.folder / "views" / "images.npy"
    ).read_bytes()
    medldr.features(name, [*same, "seed=4"], copy, views=2, force=True)
    assert len(np.load(copy / "views" / "images.npy")) == 2 * augmented.images
    shutil.rmtree(copy / "views")
    shutil.copytree(augmented.folder / "views", copy / "views")
    with pytest.raises(InputError, match=r"of other latents than those beside it: .*weights"):
        build_data(load_config(study(copy)))


def test_a_run_on_them_resumes_and_is_held_to_them(source, augmented, tmp_path, monkeypatch):
    folder = shutil.copytree(augmented.folder, tmp_path / "latents")
    whole = medldr.train(study(folder), out=tmp_path / "whole")
    assert not any(verdict.differs for verdict in medldr.verify(whole.folder).runs)
    plain = medldr.train(study(folder), ["data.views=false"], out=tmp_path / "whole")
    assert plain.folder != whole.folder

    look_after, left = Trainer.look_after, [13]

    def stopping(self, watch):
        left[0] -= 1
        if not left[0]:
            watch.received = 15
        look_after(self, watch)

    monkeypatch.setattr(Trainer, "look_after", stopping)
    with pytest.raises(Interrupted):
        medldr.train(study(folder), out=tmp_path / "stopped")
    resumed = medldr.train(study(folder), out=tmp_path / "stopped")
    model = "model.safetensors"
    assert (resumed.folder / model).read_bytes() == (whole.folder / model).read_bytes()
    assert (plain.folder / model).read_bytes() != (whole.folder / model).read_bytes()

    shutil.rmtree(folder / "views")
    medldr.features(source[0], changes(source, "rule"), folder, views=2)
    with pytest.raises(InputError, match=r"data has changed since.*augmented latents"):
        medldr.train(study(folder), out=tmp_path / "whole")
    assert medldr.train(study(folder), ["data.views=false"], out=tmp_path / "whole").folder
