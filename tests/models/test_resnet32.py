"""ResNet-32: the published counts, and its forward written a second time in NumPy."""

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import nn

from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import grad_cam
from medldr.folders.files import save_tensors

TINY = {"width": 0.125}


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.parametrize(
    ("classes", "head", "total"),
    [(100, "linear", 470_004), (100, "cosine", 469_904), (10, "linear", 464_154)],
)
def test_has_the_published_number_of_parameters(build, classes, head, total):
    model = build("resnet32", 3, classes, (32, 32), head=head)
    assert count(model) == total
    assert count(model) - count(model.head) == 463_504
    assert model.dim == 64
    assert model.stage_dims == (16, 16, 32, 64)


def test_stages_have_the_published_sizes(build):
    model = build("resnet32", 3, 10, (32, 32)).eval()
    seen = {}
    taps = {name: lambda v, name=name: seen.setdefault(name, v) for name in model.stages}
    with torch.inference_mode():
        z = model.features(torch.rand(1, 3, 32, 32), taps)
    sizes = {name: tuple(value.shape[1:]) for name, value in seen.items()}
    assert sizes == {
        "stem": (16, 32, 32),
        "stage1": (16, 32, 32),
        "stage2": (32, 16, 16),
        "stage3": (64, 8, 8),
    }
    torch.testing.assert_close(z, seen["stage3"].mean((2, 3)))


def test_weights_start_kaiming_normal_and_the_cosine_head_does_not(build):
    model = build("resnet32", 3, 100, (32, 32))
    for module in (model.conv1, model.layer2[0].conv1, model.layer3[3].conv2, model.head):
        fan_in = module.weight[0].numel()
        spread = module.weight.std().item() * (fan_in / 2) ** 0.5
        assert spread == pytest.approx(1, abs=4 / (2 * module.weight.numel()) ** 0.5)
    assert model.head.bias.abs().max() <= 1 / 8  # as torch makes it
    lengths = build("resnet32", 3, 100, (32, 32), head="cosine").head.weight.norm(dim=1)
    torch.testing.assert_close(lengths, torch.ones(100))


# ------------------------------------------------------- the forward, a second time


def shortcut(x, channels):
    """Option A by its definition, entry by entry: (B, C, H, W) to half the size."""
    rows, old, height, width = x.shape
    out = np.zeros((rows, channels, -(-height // 2), -(-width // 2)))
    first = (channels - old) // 2
    for c in range(old):
        for i in range(0, height, 2):
            for j in range(0, width, 2):
                out[:, first + c, i // 2, j // 2] = x[:, c, i, j]
    return out


def convolve(x, weight, stride):
    """A 3x3 kernel with a border of zeros."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    return np.einsum("bchwij,ocij->bohw", seen, weight)


def reference(state, image):
    """Logits of the network with these weights, in eval mode."""

    def norm(x, name):
        mean, variance, scale, shift = (
            state[f"{name}.{key}"][:, None, None]
            for key in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift

    x = np.maximum(norm(convolve(image, state["conv1.weight"], 1), "bn1"), 0)
    for stage in (1, 2, 3):
        for block in range(5):
            name = f"layer{stage}.{block}"
            stride = 2 if stage > 1 and block == 0 else 1
            first = convolve(x, state[f"{name}.conv1.weight"], stride)
            inner = np.maximum(norm(first, f"{name}.bn1"), 0)
            second = norm(convolve(inner, state[f"{name}.conv2.weight"], 1), f"{name}.bn2")
            x = np.maximum(second + (shortcut(x, second.shape[1]) if stride == 2 else x), 0)
    return x.mean((2, 3)) @ state["head.weight"].T + state["head.bias"]


@pytest.mark.parametrize("size", [(8, 8), (7, 10)])
@pytest.mark.parametrize("width", [0.125, 0.3])  # 2, 4, 8 channels; 5, 10, 19
def test_equals_the_definition_in_float64(build, size, width):
    model = build("resnet32", 3, 4, size, width=width).double()
    image = torch.randn(3, 3, *size, dtype=torch.float64)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                for value in (module.weight, module.bias, module.running_mean):
                    value.normal_(0.5, 0.3)
                module.running_var.uniform_(0.5, 1.5)
        found = model.eval()(image)
    state = {key: value.numpy() for key, value in model.state_dict().items()}
    np.testing.assert_allclose(found.numpy(), reference(state, image.numpy()), rtol=1e-10)


# ------------------------------------------------------- what it works with


def test_a_state_dict_of_the_common_layout_loads(build, tmp_path):
    source = build("resnet32", 3, 2, (8, 8), seed=1, **TINY)
    theirs = {k.replace("head.", "linear."): v for k, v in source.state_dict().items()}
    save_tensors(tmp_path / "theirs.safetensors", theirs)
    path = str(tmp_path / "theirs.safetensors")
    model = build("resnet32", 3, 2, (8, 8), seed=2, weights=path, **TINY)
    assert all(torch.equal(model.state_dict()[k], v) for k, v in source.state_dict().items())
    grey = build("resnet32", 1, 2, (8, 8), weights=path, **TINY).eval()
    image = torch.rand(2, 1, 8, 8)
    torch.testing.assert_close(grey(image), source.eval()(image.expand(-1, 3, -1, -1)))


def test_volumes_are_refused(build):
    with pytest.raises(InputError, match="resnet32 is for 2D images"):
        build("resnet32", 1, 2, (8, 8, 8))


def test_heat_maps_are_made_of_its_last_stage(build):
    model = build("resnet32", 3, 2, (32, 32), **TINY)
    image = torch.rand(2, 3, 32, 32)
    maps = grad_cam(model, image, [0, 1])
    assert maps.shape == (2, 32, 32)
    torch.testing.assert_close(maps, grad_cam(model, image, [0, 1], "stage3"))


METHODS = {
    "miro": {},
    "mixstyle": {"stages": ["stage1", "stage2"], "p": 1.0},
    "manifold_mixup": {},
    "sagnet": {},
    "fishr": {},
    "latentdr": {"degrade": "pool"},
    "batchformer": {},
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_look_into_networks_train_it(build, method, name):
    model = build("resnet32", 1, 4, (8, 8), **TINY).train()
    algorithm, batch = method(name, model, **METHODS[name])
    out = algorithm.loss(model, batch)
    out.loss.backward()
    assert out.logits.shape == (12, 4)
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
    assert model.conv1.weight.grad.abs().sum() > 0


def test_miro_compares_all_of_its_stages(build, method):
    algorithm, _ = method("miro", build("resnet32", 1, 4, (8, 8), **TINY))
    widths = {place: len(value) for place, value in algorithm.variances.items()}
    assert widths == {"stem": 2, "stage1": 2, "stage2": 4, "stage3": 8}


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("mixstyle", {}, r"stage3 is the last.*stages: \[stage1, stage2\]"),  # its default
        ("mixstyle", {"stages": ("stage3",)}, r"stages: \[stage2\]"),
        ("manifold_mixup", {"stages": ("input", "stage4")}, "no stage 'stage4'"),
    ],
)
def test_stages_that_it_lacks_or_that_are_its_last_are_refused(build, method, name, keys, message):
    model = build("resnet32", 1, 4, (8, 8), **TINY)
    with pytest.raises(InputError, match=message):
        method(name, model, **keys)
