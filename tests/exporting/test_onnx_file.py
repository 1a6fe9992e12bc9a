"""ONNX files, checked by ONNX Runtime."""

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from torch import nn

import medldr
from medldr.errors import InputError, MissingExtraError
from medldr.exporting import onnx_file
from medldr.exporting.agreement import Reference, check
from medldr.exporting.exportable import make_exportable
from medldr.exporting.onnx_file import require_onnx, write_onnx
from medldr.models import densenet121

VOLUME = (12, 12, 12)
NETWORKS = {
    "resnet18, 2D": ("resnet18", 3, (20, 20), {}, "uint8", {"name": "natural", "size": 20}),
    "resnet18, 3D ACS": ("resnet18", 1, (12, 13, 10), {}, "float32", {"name": "scan"}),
    "densenet121": ("densenet121", 1, (16, 16), {"stem": "small"}, "uint8", {"name": "medmnist"}),
    "resnet32, cosine": (
        "resnet32",
        3,
        (18, 18),
        {"head": "cosine", "cosine_scale": 30.0, "dropout": 0.5},
        "uint8",
        {"name": "natural", "size": 18},
    ),
    "resnet18, ordered": (
        "resnet18",
        1,
        (16, 16),
        {"stem": "small", "head": "corn"},
        "uint8",
        {"name": "medmnist"},
    ),
    "timm": ("timm", 3, (32, 32), {"network": "test_resnet"}, "uint8", {"name": "camelyon17"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", NETWORKS)
def test_networks(tmp_path, network, record_of, stored_images, case, monkeypatch):
    # Fewer of the same layers: a hundred of them take long to trace and show nothing more.
    monkeypatch.setattr(densenet121, "BLOCKS", (1, 2, 2, 1))
    name, channels, size, keys, dtype, transform = NETWORKS[case]
    record = record_of(channels, size, dtype=dtype, transform=transform)
    module = make_exportable(network(name, channels, 3, size, **keys), record)
    path = tmp_path / "model.onnx"
    run = write_onnx(module, record, path)
    reference = Reference(stored_images(record))
    found = check(run, module, record.stored, reference, "").difference
    assert found.logit < 2e-5
    assert found.probability < 2e-6
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
def test_the_file_tells_its_preprocessing_and_no_folder_of_this_machine(
    tmp_path, tiny, record_of, stored_images
):
    import onnx

    transform = {"name": "scan", "size": 8}
    record = record_of(1, (20, 12), transform=transform, given=(1, (8, 8)), temperature=1.5)
    path = tmp_path / "model.onnx"
    write_onnx(make_exportable(tiny(), record), record, path)
    model = onnx.load(path)
    said = {entry.key: entry.value for entry in model.metadata_props}
    assert json.loads(said["preprocessing"]) == record.model_dump(mode="json", by_alias=True)
    (image,) = model.graph.input
    assert image.name == "image"
    sizes = [axis.dim_param or axis.dim_value for axis in image.type.tensor_type.shape.dim]
    assert isinstance(sizes[0], str)
    assert sizes[1:] == [1, 20, 12]
    assert [output.name for output in model.graph.output] == ["logits", "probabilities"]
    content = path.read_bytes()
    for folder in (Path(medldr.__file__).parent, Path(torch.__file__).parent, Path.home()):
        assert str(folder).encode() not in content


@pytest.mark.slow
def test_pooling_to_what_divides_works_and_to_what_does_not_is_named(tmp_path, tiny, record_of):
    record = record_of(1, (8, 8))
    for pooling in (nn.AdaptiveMaxPool2d(4), nn.AdaptiveAvgPool2d(3)):
        module = make_exportable(tiny(pooling=pooling), record)
        run = write_onnx(module, record, tmp_path / "a.onnx")
        check(run, module, record.stored, Reference(), "a.onnx")
    path = tmp_path / "new" / "model.onnx"
    module = make_exportable(tiny(pooling=nn.AdaptiveMaxPool2d(3)), record)
    with pytest.raises(
        InputError,
        match=r"layer 'pooling' uses adaptive_max_pool2d\. .* format=torch",
    ):
        write_onnx(module, record, path)


@pytest.mark.slow
def test_weights_too_large_for_one_file_lie_beside_it(tmp_path, tiny, record_of, monkeypatch):
    import onnxruntime

    monkeypatch.setattr(onnx_file, "LARGEST", 0)
    record = record_of(1, (8, 8))
    module = make_exportable(tiny(), record)
    run = write_onnx(module, record, tmp_path / "model.onnx")
    check(run, module, record.stored, Reference(), "model.onnx")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    onnxruntime.InferenceSession(tmp_path / "model.onnx")


def test_a_missing_package_is_told_with_what_installs_it(monkeypatch):
    absent = "onnxscript"
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == absent else there(name)
    )
    with pytest.raises(MissingExtraError, match=rf"{absent}.* pip install 'medldr\[onnx\]'"):
        require_onnx()
