"""Stored latents are those of the live encoder, and runs on them say so in every command."""

import json
import shutil

import numpy as np
import pytest
import torch

import medldr
from medldr.analysis.analyze import analyze
from medldr.config import load_config
from medldr.data import build_data
from medldr.data.store import packing
from medldr.data.store.pack_files import read_facts
from medldr.datasets.features import Config, load
from medldr.encoding.encoder import load_encoder
from medldr.errors import InputError
from medldr.evaluation.representation.frame import Options
from medldr.models import build_model


def test_they_are_what_the_network_makes_of_the_images(source, stored):
    name, changes = source
    config = load_config(name, changes)
    data = build_data(config)
    model = build_model(config.model, data.spec, seed=3).eval()
    table = load(Config(root=stored.folder))
    assert table.ids.tolist() == data.table.ids.tolist()
    assert table.labels.tolist() == data.table.labels.tolist()
    with torch.no_grad():
        for row in (0, 7, len(table) - 1):
            image = data.pipeline.evaluate(data.pixels.row(row)[None])
            assert np.allclose(table.images[row], model.features(image)[0].numpy(), atol=1e-5)


def test_the_same_call_finds_them_there_and_another_encoder_is_refused(source, stored):
    name, changes = source
    assert medldr.features(name, changes, stored.folder).made == "there"
    with pytest.raises(InputError, match=r"other latents: weights differ.*force"):
        medldr.features(name, [*changes[:-1], "seed=4"], stored.folder)


def test_latents_and_encoder_are_replaced_together(source, stored, tmp_path, monkeypatch):
    name, changes = source
    other = [*changes[:-1], "seed=4"]
    out = shutil.copytree(stored.folder, tmp_path / "latents")

    def dying(*_):
        raise KeyboardInterrupt

    for what in ("write_table", "take_name"):  # latents are there, and then the encoder, too
        with monkeypatch.context() as patched:
            patched.setattr(packing, what, dying)
            with pytest.raises(KeyboardInterrupt):
                medldr.features(name, other, out, force=True)
        assert load_encoder(out / "encoder", read_facts(out).encoder)
    made = medldr.features(name, other, out, force=True)
    assert made.made == "replaced"
    assert load_encoder(out / "encoder", made.encoder)
    with pytest.raises(InputError, match="its weights, by sha256"):
        load_encoder(out / "encoder", stored.encoder)
    (out / "encoder" / "model.safetensors").write_bytes(b"")
    assert medldr.features(name, other, out, force=True).made == "there"
    assert load_encoder(out / "encoder", made.encoder)


def test_a_damaged_latent_is_noticed(stored, tmp_path):
    copy = shutil.copytree(stored.folder, tmp_path / "copy")
    data = bytearray((copy / "images.npy").read_bytes())
    data[-1] ^= 1
    (copy / "images.npy").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        load(Config(root=copy)).images[:]


def test_a_run_on_them_is_verified_answers_and_knows_the_encoder(run, stored, tmp_path):
    assert not any(verdict.differs for verdict in medldr.verify(run.folder).runs)
    record = json.loads((run.folder / "preprocessing.json").read_text())
    assert record["reading"]["encoder"]["weights"] == stored.encoder["weights"]
    table = load(Config(root=stored.folder))
    for name, values in (("good", table.images[0]), ("short", table.images[0][:3])):
        np.save(tmp_path / f"{name}.npy", values)
    paths = [tmp_path / "good.npy", tmp_path / "short.npy"]
    answers = medldr.predict(run.folder, paths)
    assert len(answers.prob) == 1
    assert "of another encoder" in answers.unreadable[0].reason
    model = medldr.load_model(run.folder)
    with torch.no_grad():
        wanted = model(torch.from_numpy(table.images[:1])).softmax(1).numpy()
    assert np.allclose(answers.prob, wanted, atol=1e-5)


def test_how_unlike_a_latent_is_is_said_of_latents(run, stored, tmp_path):
    np.save(tmp_path / "far.npy", 100 * load(Config(root=stored.folder)).images[0])
    answers = medldr.predict(run.folder, [tmp_path / "far.npy"])
    assert "of the numbers of its latent is" in answers.warnings[0][0]
    assert any("a latent shows mean and SD alone" in note for note in answers.notes)
    with pytest.raises(InputError, match="Name the scans themselves"):
        medldr.predict(run.folder, stored.folder)


@pytest.mark.slow
def test_an_analysis_shows_no_pictures_of_them_and_says_so(run, tmp_path, caplog):
    few = Options(draws=50, items=150, points=60, queries=2, batches=3)
    page = analyze([run.folder], tmp_path, few).page.read_text()
    assert "there are none of stored latents" in page
    assert not caplog.records


def test_what_needs_pixels_says_so(run, tmp_path):
    np.save(tmp_path / "one.npy", np.zeros(4, np.float32))
    with pytest.raises(InputError, match="stored latents, of which no heat map"):
        medldr.explain(run.folder, [tmp_path / "one.npy"], tmp_path / "maps")
    with pytest.raises(InputError, match="nothing to encode"):
        medldr.features(run.folder, out=tmp_path / "again")
    config = str(run.folder / "config.yaml")
    with pytest.raises(InputError, match="stored latents have no stages"):
        medldr.train(config, ["algorithm=mixstyle"], out=tmp_path)
    with pytest.raises(InputError, match="is for 2D images and 3D images, but these are stored"):
        medldr.train(config, ["model=resnet18"], out=tmp_path)
