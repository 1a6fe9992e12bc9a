"""An ONNX file as encoder: what it gives is stored, and what does not fit is named."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import medldr
from medldr.config import load_config
from medldr.data import build_data
from medldr.encoding.encoder import load_encoder
from medldr.encoding.exported import ExportedEncoder
from medldr.errors import InputError

EDGE, DIM, ONE = 28, 5, np.array([1])
WEIGHTS = np.random.default_rng(0).normal(size=(EDGE**3, DIM)).astype(np.float32) / 1e5


SUM = helper.make_node("ReduceSum", ["latent", "zero"], ["other"], keepdims=1)
SHIFTED = helper.make_node("LpNormalization", ["latent"], ["other"], axis=0)
LOGARITHM = helper.make_node("Log", ["latent"], ["other"])


def write(
    path,
    *,
    batch="batch",
    edge=EDGE,
    outputs=("other", "latent"),
    pooled=True,
    takes=TensorProto.FLOAT,
    last=None,
):
    """Flattened images times `WEIGHTS`; the output ``other`` is its double, unless it is `last`."""
    nodes = [
        helper.make_node("Cast", ["pixels"], ["given"], to=TensorProto.FLOAT),
        helper.make_node("Flatten", ["given"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["latent"]),
        last or helper.make_node("Add", ["latent", "latent"], ["other"]),
        helper.make_node("Unsqueeze", ["latent", "one"], ["tokens"]),
    ]
    weights = WEIGHTS if edge != 32 else np.zeros((32**3, DIM), np.float32)
    shape = [batch, 1, edge, edge, edge]
    kept = outputs if pooled else ("tokens",)
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info("pixels", takes, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in kept],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([1]), "one"),
            numpy_helper.from_array(np.array([0]), "zero"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path)
    return path


def expected(source):
    data = build_data(load_config(*source))
    seen = [data.pipeline.evaluate(data.pixels.row(row)[None]) for row in range(3)]
    return np.concatenate([one.numpy().reshape(1, -1) for one in seen]) @ WEIGHTS


@pytest.mark.parametrize(
    ("options", "factor"),
    [({}, 1), ({"outputs": ("other",)}, 2), ({"batch": 4}, 1), ({"edge": "any"}, 1)],
)
def test_its_latents_are_stored(source, tmp_path, options, factor):
    file = write(tmp_path / "net.onnx", **options)
    made = medldr.features(*source, tmp_path / "latents", encoder=file)
    stored = np.load(made.folder / "images.npy")
    assert stored.shape[1] == made.dim == DIM
    assert np.allclose(stored[:3], factor * expected(source), rtol=1e-4, atol=1e-6)
    assert medldr.features(*source, made.folder, encoder=file).made == "there"
    kept, record = load_encoder(made.folder / "encoder", made.encoder)
    assert kept.dim == DIM
    assert record.input.spatial_size == (EDGE,) * 3
    (made.folder / "encoder" / "net.onnx").write_bytes(write(file, batch=7).read_bytes())
    with pytest.raises(InputError, match="was changed"):
        load_encoder(made.folder / "encoder", made.encoder)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"edge": 32}, "pixel rule makes"),
        ({"pooled": False}, "with its pooling"),
        ({"takes": TensorProto.FLOAT16}, r"takes tensor\(float16\).*in float32"),
        ({"last": SUM, "outputs": ("other",)}, "for 2 images"),
        ({"last": SHIFTED, "outputs": ("other",)}, "evaluation mode"),
        ({"last": LOGARITHM, "outputs": ("other",)}, "latent holds NaN"),
    ],
)
def test_what_does_not_fit_is_named(source, tmp_path, options, said):
    file = write(tmp_path / "net.onnx", **options)
    with pytest.raises(InputError, match=said):
        medldr.features(*source, tmp_path / "latents", encoder=file)
    assert not (tmp_path / "latents").exists()


def test_all_files_of_its_weights_are_kept_and_counted(source, tmp_path):
    model = onnx.load(write(tmp_path / "whole.onnx"))
    file, weights = tmp_path / "net.onnx", tmp_path / "weights.bin"
    onnx.save(model, file, save_as_external_data=True, location=weights.name)
    made = medldr.features(*source, tmp_path / "latents", encoder=file)
    before = ExportedEncoder(file).sha256
    for given in (file, weights):
        given.rename(given.with_suffix(".gone"))
    assert load_encoder(made.folder / "encoder", made.encoder)[0].sha256 == before
    changed = bytearray(weights.with_suffix(".gone").read_bytes())
    changed[100] ^= 1
    weights.write_bytes(changed)
    file.with_suffix(".gone").rename(file)
    assert ExportedEncoder(file).sha256 != before


@pytest.mark.parametrize("option", [{"precision": "bfloat16"}, {"device": "cuda"}])
def test_it_works_on_the_processor_alone(source, tmp_path, option):
    file = write(tmp_path / "net.onnx")
    with pytest.raises(InputError, match="on the processor, in float32"):
        medldr.features(*source, tmp_path / "latents", encoder=file, **option)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"no network")
    with pytest.raises(InputError, match="cannot be run"):
        ExportedEncoder(tmp_path / "net.onnx")
    with pytest.raises(InputError, match="execute code"):
        ExportedEncoder(tmp_path / "net.pt2")
    file = write(tmp_path / "ours.onnx")
    model = onnx.load(file)
    helper.set_model_props(model, {"preprocessing": "{}"})
    onnx.save(model, file)
    with pytest.raises(InputError, match="folder of its run"):
        ExportedEncoder(file)
