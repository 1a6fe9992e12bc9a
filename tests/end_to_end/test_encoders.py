"""An encoder of somebody else's, from its file to an exported network."""

import json
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image

import medldr as package
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.run import load_model

LITE = Path(__file__).parents[3] / "shared" / "weights" / "efficientnet_lite0.safetensors"
KEYS = {"init_values": 1e-5, "dynamic_img_size": True}
SMALL = {
    "training.epochs": 1, "training.batch_size": 8, "evaluation.draws": 100,
    "machine.device": "cpu", "training.precision": "float32", "machine.report": False,
}  # fmt: skip

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("drawn")]


@pytest.fixture
def train(tmp_path):
    def make(model, data="phantom_histology", algorithm="erm", **changes):
        fewer = {"data.patients": 40} if "fracture" in data else {"data.tiles": 4, "data.size": 32}
        given = {
            "extends": [f"recipe/own_{'3d' if 'fracture' in data else '2d'}", f"data/{data}"],
            "label": "encoder",
            "algorithm": algorithm,
            "model": {"name": "timm", **model},
        }
        changes = {key.replace("__", "."): value for key, value in changes.items()}
        return RunFolder(
            package.train(given, {**SMALL, **fewer, **changes}, out=tmp_path / "runs").folder
        )

    return make


@pytest.mark.parametrize("ending", ["safetensors", "pth"])
def test_a_vit_is_loaded_frozen_probed_explained_and_exported(train, tmp_path, ending):
    torch.manual_seed(0)
    theirs = timm.create_model("test_vit", num_classes=0, img_size=32, **KEYS)
    path = tmp_path / f"encoder.{ending}"
    if ending == "pth":
        torch.save({f"module.{k}": v for k, v in theirs.state_dict().items()}, path)
    else:
        save_tensors(path, theirs.state_dict())
    model = {
        "network": "test_vit", "pretrained": str(path), "arguments": KEYS,
        "freeze": "all", "adapter": "mlp",
    }  # fmt: skip
    run = train(model, algorithm="latentdr_sa", transform__size=32)

    notes = json.loads(run.run.read_text())["notes"]
    assert any(f"a file, encoder.{ending} (sha256 " in note for note in notes)
    assert any("transform (scan) gives size 32" in note for note in notes)
    transform = json.loads(run.preprocessing.read_text())["transform"]
    assert (transform["mean"], transform["interpolation"]) == (0.5, "bicubic")
    trained = load_model(run.path)
    for name, value in trained.network.state_dict().items():
        assert torch.equal(value, theirs.state_dict()[name]), name
    assert trained.adapter.up.weight.any()

    path = tmp_path / "one.png"
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    explained = package.explain(run.path, [path], tmp_path / "heat")
    assert explained.heat[0].ndim == 2
    assert explained.heat[0].max() == pytest.approx(1)
    for kind in ("onnx", "torch"):
        made = package.export(run.path, kind, tmp_path / kind, check=[path])
        assert made.agreement.difference.probability < 1e-4


def test_a_network_of_imagenet_is_fine_tuned_behind_frozen_stages(train):
    if not LITE.is_file():
        pytest.skip(f"absent: {LITE}")
    model = {"network": "tf_efficientnet_lite0", "pretrained": str(LITE), "freeze": 3}
    run = train(model, transform__size=64, training__batch_size=16)
    trained = load_model(run.path)
    before = load_tensors(LITE)
    after = {f"network.{k}": v for k, v in trained.network.state_dict().items()}
    frozen = {k for k, p in trained.network.named_parameters() if not p.requires_grad}
    assert frozen
    for name in after:
        if name.removeprefix("network.") in frozen:
            assert torch.equal(after[name], before[name]), name
    assert not torch.equal(after["network.conv_head.weight"], before["network.conv_head.weight"])


def test_volumes_go_slice_by_slice_through_a_network_of_pictures(train, tmp_path):
    model = {"network": "test_resnet", "slices": "attention"}
    run = train(model, data="phantom_fracture")
    volume = np.random.default_rng(0).integers(0, 256, (28, 28, 28), dtype=np.uint8)
    heat = package.explain(run.path, volume[None], tmp_path / "heat").heat
    assert heat[0].shape == (28, 28, 28)
    assert load_model(run.path).slices.depth == 28
    made = package.export(run.path, "onnx", tmp_path / "onnx")
    assert made.agreement.difference.probability < 1e-4
