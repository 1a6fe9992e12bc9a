"""Exported networks where medldr cannot be imported, against medldr's own pixels and answers."""

import csv
import json

import numpy as np
import pytest
import torch

from medldr.data.files.image import make_image
from medldr.data.files.rules import Rules
from medldr.data.files.scan import Source
from medldr.exporting import Card, export
from medldr.transforms import ImageShape, build_pipeline, medmnist, scan

pytestmark = pytest.mark.slow

CARD = Card(label="a run", weights_sha256="0" * 64)
CONFIGS = {"scan": scan.Config, "medmnist": medmnist.Config}

PICTURE_PROGRAM = """
import json, sys
import numpy as np, onnxruntime
from PIL import Image
record = json.load(open("out/preprocessing.json"))
assert record["reading"]["kind"] == "scan" and record["stored"]["dtype"] == "uint8"
height, width = record["stored"]["spatial_size"]
mode = {1: "L", 3: "RGB"}[record["stored"]["channels"]]
session = onnxruntime.InferenceSession("out/model.onnx")
for file in sys.argv[1:]:
    picture = Image.open(file).convert(mode)
    picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    image = np.atleast_3d(np.asarray(picture, np.float32)).transpose(2, 0, 1)
    print(json.dumps(session.run(["probabilities"], {"image": image[None]})[0][0].tolist()))
"""

VOLUME_PROGRAM = """
import json, sys
import nibabel, numpy as np, onnxruntime
record = json.load(open("out/preprocessing.json"))
rules = record["reading"]
assert rules["kind"] == "scan" and rules["spacing"] is None and record["stored"]["channels"] == 1
session = onnxruntime.InferenceSession("out/model.onnx")
for file in sys.argv[1:]:
    volume = np.asarray(nibabel.as_closest_canonical(nibabel.load(file)).dataobj, np.float64)
    assert list(volume.shape) == record["stored"]["spatial_size"]
    if rules["window"] == "percentile":
        low, high = np.percentile(volume, rules["percentiles"])
    else:
        low, high = rules["window"]
    image = np.clip((volume - low) / (high - low), 0, 1).astype(np.float32)
    print(json.dumps(session.run(["probabilities"], {"image": image[None, None]})[0][0].tolist()))
"""


def ours(model, record, path):
    """medldr's probabilities: its own pixels, its pixel rule, the network."""
    values = dict(record.reading)
    assert values.pop("kind") == "scan"
    pixels = make_image(Source(path), Rules.from_dict(values))
    if record.stored.dtype == "uint8" and pixels.dtype != np.uint8:
        pixels = np.rint(pixels * 255).astype(np.uint8)
    config = CONFIGS[record.transform["name"]](**record.transform)
    shape = ImageShape(record.stored.channels, record.stored.spatial_size)
    pipeline = build_pipeline(config, shape, floating=record.stored.dtype == "float32")
    with torch.no_grad():
        logits = model(pipeline.evaluate(torch.from_numpy(pixels.copy())[None]))
        return (logits / (record.temperature or 1)).softmax(1)[0].numpy()


@pytest.mark.parametrize("channels", [1, 3])
def test_onnx_and_pillow(tmp_path, tiny, record_of, elsewhere, pictures, channels):
    record = record_of(channels, (28, 24), transform={"name": "medmnist"}, temperature=1.4)
    model = tiny(channels)
    export(model, record, tmp_path / "out", "onnx", card=CARD)
    files = [pictures / name for name in ("colour.png", "grey.png", "more/palette.png")]
    said = elsewhere("-c", PICTURE_PROGRAM, *files, blocked="medldr torch monai nibabel")
    for line, file in zip(said.splitlines(), files, strict=True):
        np.testing.assert_allclose(json.loads(line), ours(model, record, file), rtol=0, atol=1e-6)


@pytest.mark.parametrize("window", ["percentile", (100.0, 2500.0)])
def test_onnx_and_nibabel(tmp_path, network, record_of, rules, elsewhere, volumes, window):
    size = (20, 22, 18)  # once turned to RAS+
    reading = {"kind": "scan", **rules(size, 1, "float32", window=window).as_dict()}
    record = record_of(1, size, dtype="float32", reading=reading)
    model = network("resnet18", 1, 3, size, conv="3d")
    export(model, record, tmp_path / "out", "onnx", card=CARD)
    files = [volumes / name for name in ("c.nii.gz", "b.nii.gz")]
    said = elsewhere("-c", VOLUME_PROGRAM, *files, blocked="medldr torch monai PIL")
    for line, file in zip(said.splitlines(), files, strict=True):
        np.testing.assert_allclose(json.loads(line), ours(model, record, file), rtol=0, atol=1e-6)


BUNDLES = {
    "volumes": (
        (16, 16, 16),
        1,
        "float32",
        {"spacing": (1.5, 1.5, 1.5), "pad": True, "bit_depth": 12},
        {"name": "scan"},
    ),
    "pictures": ((28, 24), 3, "uint8", {}, {"name": "medmnist"}),
}


@pytest.mark.parametrize("case", BUNDLES)
def test_bundles(tmp_path, request, tiny, network, record_of, rules, elsewhere, case):
    pytest.importorskip("ignite", reason="MONAI runs a bundle with pytorch-ignite")
    pytest.importorskip("fire", reason="MONAI's command line needs fire")
    size, channels, dtype, keys, transform = BUNDLES[case]
    folder = request.getfixturevalue(case)
    reading = {"kind": "scan", **rules(size, channels, dtype, **keys).as_dict()}
    record = record_of(channels, size, dtype=dtype, reading=reading, transform=transform)
    made = tiny(channels) if len(size) == 2 else network("resnet18", channels, 3, size)
    out = export(made, record, tmp_path / "out", "bundle", card=CARD).folder
    elsewhere(
        *("-m", "monai.bundle", "run", "--config_file", out / "configs" / "inference.json"),
        *("--bundle_root", out, "--dataset_dir", folder, "--output_dir", tmp_path / "answers"),
    )
    with (tmp_path / "answers" / "probabilities.csv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["file", "class 0", "class 1", "class 2"]
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".txt")
    assert [row[0] for row in rows] == [p.relative_to(folder).as_posix() for p in files]
    theirs = np.array([row[1:] for row in rows], float)
    expected = np.stack([ours(made, record, path) for path in files])
    np.testing.assert_allclose(theirs, expected, rtol=0, atol=1e-5)
    assert np.ptp(expected, 0).max() > 1e-3


def test_medldr_cannot_be_imported_there(elsewhere):
    program = "try:\n    import medldr\nexcept ImportError as error:\n    print(error)"
    assert elsewhere("-c", program).strip() == "medldr is blocked"
