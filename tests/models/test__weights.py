"""Starting from a weights file."""

import pytest
import torch
from torchvision.models import densenet121, resnet18

from medldr.errors import InputError
from medldr.folders.files import save_tensors
from medldr.models._acs import inflate

TINY = {"width": 0.125}


def save(tmp_path, state, name="weights.safetensors"):
    path = tmp_path / name
    save_tensors(path, state)
    return str(path)


def body(model):
    return {k: v for k, v in model.state_dict().items() if not k.startswith("head.")}


def test_everything_is_loaded_when_all_shapes_agree(build, tmp_path):
    source = build("resnet18", 3, 2, (8, 8), seed=1, **TINY)
    path = save(tmp_path, source.state_dict())
    model = build("resnet18", 3, 2, (8, 8), seed=2, weights=path, **TINY)
    assert all(torch.equal(model.state_dict()[k], v) for k, v in source.state_dict().items())
    assert model.notes == []


def test_a_head_of_another_shape_starts_fresh_and_says_so(build, tmp_path):
    path = save(tmp_path, build("resnet18", 3, 2, (8, 8), seed=1, **TINY).state_dict())
    model = build("resnet18", 3, 5, (8, 8), seed=2, weights=path, **TINY)
    fresh = build("resnet18", 3, 5, (8, 8), seed=2, **TINY)
    assert torch.equal(model.head.weight, fresh.head.weight)
    assert not torch.equal(body(model)["network.conv1.weight"], fresh.network.conv1.weight)
    assert "head is newly initialised" in model.notes[0]


@pytest.mark.parametrize(("conv", "depth"), [("acs", None), ("2.5d", 1), ("3d", 3)])
def test_2d_weights_load_into_the_converted_network(build, tmp_path, conv, depth):
    source = build("resnet18", 3, 2, (8, 8), seed=1, **TINY)
    path = save(tmp_path, source.state_dict())
    model = build("resnet18", 3, 2, (8, 8, 8), seed=2, weights=path, conv=conv, **TINY)
    kernel = source.network.layer1[0].conv1.weight
    expected = kernel if depth is None else inflate(kernel, depth)
    assert torch.equal(model.network.layer1[0].conv1.weight, expected)
    assert torch.equal(model.head.weight, source.head.weight)


def test_2d_weights_load_into_a_3d_densenet(build, tmp_path):
    keys = {"stem": "small", **TINY}
    source = build("densenet121", 3, 2, (8, 8), seed=1, **keys)
    path = save(tmp_path, source.state_dict())
    model = build("densenet121", 3, 2, (8, 8, 8), seed=2, weights=path, **keys)
    torch.testing.assert_close(model.network.conv0.weight.sum(2), source.network.conv0.weight)


@pytest.mark.parametrize(("given", "wanted"), [(3, 1), (1, 3)])
@pytest.mark.parametrize("size", [(8, 8), (8, 8, 8)])
def test_another_number_of_channels_gives_the_same_on_grey_images(
    build, tmp_path, given, wanted, size
):
    source = build("resnet18", given, 2, size, seed=1, **TINY).eval()
    path = save(tmp_path, source.state_dict())
    model = build("resnet18", wanted, 2, size, seed=2, weights=path, **TINY).eval()
    grey = torch.rand(2, 1, *size)
    images = {n: torch.cat([grey] * n, dim=1) for n in (1, 3)}
    with torch.inference_mode():
        torch.testing.assert_close(
            model(images[wanted]), source(images[given]), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize(
    ("name", "library", "keys"),
    [("resnet18", resnet18, {"stem": "imagenet"}), ("densenet121", densenet121, {})],
)
def test_a_state_dict_of_torchvision_loads_by_its_own_names(build, tmp_path, name, library, keys):
    theirs = library(num_classes=4).eval()
    path = save(tmp_path, theirs.state_dict())
    model = build(name, 3, 4, (32, 32), weights=path, **keys).eval()
    image = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        torch.testing.assert_close(model(image), theirs(image), rtol=1e-4, atol=1e-5)


def test_a_file_without_step_counters_loads(build, tmp_path):
    state = build("resnet18", 3, 2, (8, 8), seed=1, **TINY).state_dict()
    path = save(tmp_path, {k: v for k, v in state.items() if "num_batches" not in k})
    build("resnet18", 3, 2, (8, 8), weights=path, **TINY)


def wrong(state, change):
    state = dict(state)
    if change == "missing":
        state["network.bn1.weigth"] = state.pop("network.bn1.weight")
    elif change == "unknown":
        state["network.extra"] = torch.zeros(1)
    else:
        state["network.bn1.bias"] = torch.zeros(3)
    return state


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("missing", r"has no key 'network.bn1.weight', .*Did you mean 'network.bn1.weigth'"),
        ("unknown", r"holds the key 'network.extra', which the network does not have"),
        ("shape", r"holds 'network.bn1.bias' with shape \(3,\), but the network needs \(8,\)"),
    ],
)
def test_any_other_mismatch_names_the_file_and_the_key(build, tmp_path, change, message):
    state = wrong(build("resnet18", 3, 2, (8, 8), **TINY).state_dict(), change)
    path = save(tmp_path, state)
    with pytest.raises(InputError, match=r"weights.safetensors " + message):
        build("resnet18", 3, 2, (8, 8), weights=path, **TINY)


def test_another_stem_is_a_mismatch_that_names_its_key(build, tmp_path):
    path = save(tmp_path, build("resnet18", 3, 2, (8, 8), **TINY).state_dict())
    with pytest.raises(InputError, match=r"network.conv1.weight.*Check model.stem"):
        build("resnet18", 3, 2, (8, 8), weights=path, stem="imagenet", **TINY)


def test_a_3d_kernel_does_not_go_into_a_2d_one(build, tmp_path):
    source = build("resnet18", 3, 2, (8, 8, 8), conv="3d", **TINY)
    path = save(tmp_path, source.state_dict())
    with pytest.raises(InputError, match="3D kernel does not fit a 2D one"):
        build("resnet18", 3, 2, (8, 8, 8), conv="acs", weights=path, **TINY)


def test_an_absent_or_foreign_file_is_an_error(build, tmp_path):
    with pytest.raises(InputError, match=r"none.* cannot be read: there is no such file"):
        build("resnet18", 3, 2, (8, 8), weights=str(tmp_path / "none"), **TINY)
    pickled = tmp_path / "weights.pt"
    torch.save({"a": torch.zeros(1)}, pickled)
    with pytest.raises(InputError, match="not a readable safetensors file"):
        build("resnet18", 3, 2, (8, 8), weights=str(pickled), **TINY)
