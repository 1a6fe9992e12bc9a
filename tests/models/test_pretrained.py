"""Networks that start from published weights, written here in torchvision's own format."""

import copy
import hashlib
import pickle
import re

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torchvision.models import DenseNet121_Weights, ResNet18_Weights, densenet121, resnet18

from medldr.errors import InputError
from medldr.evaluation.evaluate_rules import network
from medldr.folders.files import save_tensors
from medldr.models import build_model
from medldr.models.resnet18 import Config

ID = "ResNet18_Weights.IMAGENET1K_V1"


def write(state, root, published, member):
    """Save a state dict as torchvision publishes it: its name ends in its checksum's digits."""
    folder = root / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(state, folder / "new")
    digits = hashlib.sha256((folder / "new").read_bytes()).hexdigest()[:8]
    path = (folder / "new").rename(folder / f"net-{digits}.pth")
    published(member, f"https://weights.invalid/{path.name}")
    return path


@pytest.fixture(scope="module")
def drawn():
    torch.manual_seed(0)
    model = resnet18()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model.eval()


@pytest.fixture
def theirs(drawn):
    """torchvision's ResNet-18 of 1,000 classes, with statistics that are not those at rest."""
    return copy.deepcopy(drawn)


@pytest.fixture
def root(theirs, published, tmp_path):
    write(theirs.state_dict(), tmp_path, published, ResNet18_Weights.IMAGENET1K_V1)
    return tmp_path


@pytest.fixture
def start(spec_of, root):
    """`start(channels, *size, **keys)`: a ResNet-18 that starts from the published weights."""

    def make(channels, *size, **keys):
        config = Config(**{"name": "resnet18", "stem": "imagenet", "pretrained": ID, **keys})
        return build_model(config, spec_of(channels, 5, *size), seed=3, root=root).eval()

    return make


def latents(model, image):
    """What torchvision's own network gives its last layer."""
    layers = nn.Sequential(*list(model.children())[:-1])
    with torch.inference_mode():
        return layers(image).flatten(1)


@pytest.mark.slow
def test_features_are_torchvisions_own(start, theirs):
    model = start(3, 64, 64).double()  # ours is channels last, so float32 differs in rounding
    image = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    expected = latents(theirs.double(), image)
    with torch.inference_mode():
        torch.testing.assert_close(model.features(image), expected, rtol=1e-10, atol=1e-10)
    assert model.dim == 512


@pytest.mark.slow
def test_the_published_head_is_left_out_even_where_it_would_fit(start, spec_of, root, theirs):
    model = start(3, 32, 32)
    assert model.head.weight.shape == (5, 512)
    thousand = spec_of(3, 1000, 32, 32)
    config = Config(name="resnet18", stem="imagenet", pretrained=ID)
    fitting = build_model(config, thousand, seed=3, root=root)
    fresh = build_model(Config(name="resnet18", stem="imagenet"), thousand, seed=3)
    assert torch.equal(fitting.head.weight, fresh.head.weight)
    assert not torch.equal(fitting.head.weight, theirs.fc.weight)


def test_a_note_says_which_weights_from_which_file(start, root):
    (file,) = (root / "weights").iterdir()
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    (note,) = start(3, 32, 32).notes
    assert f"{ID}, {file.name} (sha256 {sha256})" in note
    assert "the head is newly initialised" in note


def test_one_channel_gets_the_sum_so_that_grey_images_give_the_same(start, theirs):
    grey = torch.randn(2, 1, 32, 32)
    with torch.inference_mode():
        found = start(1, 32, 32).features(grey)
    expected = latents(theirs, grey.expand(-1, 3, -1, -1))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("channels", [2, 4, 7])
def test_other_channels_repeat_the_colours_and_keep_the_size(start, theirs, channels):
    kernel = start(channels, 32, 32).network.conv1.weight
    for n in range(channels):
        expected = theirs.conv1.weight[:, n % 3] * (3 / channels)
        torch.testing.assert_close(kernel[:, n], expected, rtol=0, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize(("conv", "depth"), [("acs", None), ("2.5d", 1), ("3d", 7)])
def test_volumes_start_from_the_same_weights(start, theirs, conv, depth):
    kernel = start(1, 16, 32, 32, conv=conv).network.conv1.weight
    grey = theirs.conv1.weight.sum(1, keepdim=True)
    if depth is None:
        torch.testing.assert_close(kernel, grey)
    else:
        assert kernel.shape[2:] == (depth, 7, 7)
        torch.testing.assert_close(kernel.sum(2), grey, rtol=1e-5, atol=1e-6)


def test_the_older_names_of_published_densenets_are_understood(spec_of, published, tmp_path):
    from medldr.models.densenet121 import Config as DenseConfig

    model = densenet121().eval()
    old = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", key): value
        for key, value in model.state_dict().items()
        if not key.endswith("num_batches_tracked")
    }
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    write(old, tmp_path, published, DenseNet121_Weights.IMAGENET1K_V1)
    config = DenseConfig(name="densenet121", pretrained="DenseNet121_Weights.IMAGENET1K_V1")
    ours = build_model(config, spec_of(3, 2, 32, 32), seed=0, root=tmp_path).eval()
    image = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        maps = torch.relu(model.features(image))
        torch.testing.assert_close(ours.features(image), maps.mean((2, 3)), rtol=1e-4, atol=1e-5)


def test_weights_of_another_network_are_refused(start):
    with pytest.raises(InputError, match=r"model\.pretrained: ResNet50_.* to the network resnet50"):
        start(3, 32, 32, pretrained="ResNet50_Weights.IMAGENET1K_V1")


def test_an_unknown_id_names_the_key(start):
    with pytest.raises(InputError, match=r"model\.pretrained: there are no published weights"):
        start(3, 32, 32, pretrained="ResNet18_Weights.V1")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"stem": "small"}, r"does not fit this stem.*Set model\.stem: imagenet"),
        ({"width": 0.5}, r"does not fit this width.*Set model\.width: 1"),
        ({"weights": "mine.safetensors"}, r"pretrained and weights both set"),
    ],
)
def test_keys_that_do_not_go_with_published_weights_are_refused(keys, message):
    with pytest.raises(ValidationError, match=message):
        Config(**{"name": "resnet18", "stem": "imagenet", "pretrained": ID, **keys})


class Trap:
    """A pickle that would make a file when it is read by pickle's own code."""

    def __reduce__(self):
        return (open, ("sprung", "w"))


def test_a_file_that_would_execute_code_is_refused(start, root, published, monkeypatch):
    monkeypatch.chdir(root)
    with open("weights/new.pth", "wb") as stream:
        pickle.dump({"conv1.weight": Trap()}, stream)
    digits = hashlib.sha256((root / "weights/new.pth").read_bytes()).hexdigest()[:8]
    (root / "weights/new.pth").rename(root / f"weights/trap-{digits}.pth")
    published(ResNet18_Weights.IMAGENET1K_V1, f"https://weights.invalid/trap-{digits}.pth")
    with pytest.raises(InputError, match=r"trap-.*refused"):
        start(3, 32, 32)
    assert not (root / "sprung").exists()


def test_a_file_of_another_shape_names_the_key_and_the_file(start, root, theirs, published):
    state = {**theirs.state_dict(), "bn1.bias": torch.zeros(3)}
    path = write(state, root, published, ResNet18_Weights.IMAGENET1K_V1)
    with pytest.raises(InputError, match=rf"model\.pretrained: .*{path.name} holds 'network\.bn1"):
        start(3, 32, 32)


@pytest.mark.slow
def test_a_finished_run_needs_the_published_file_no_more(start, spec_of, tmp_path, root):
    from types import SimpleNamespace

    trained = start(3, 32, 32, batch_norm="frozen")
    save_tensors(tmp_path / "model.safetensors", trained.state_dict())
    (published_file,) = (root / "weights").iterdir()
    published_file.unlink()
    section = Config(name="resnet18", stem="imagenet", pretrained=ID, batch_norm="frozen")
    config = SimpleNamespace(model=section, seed=0)
    again = network(config, spec_of(3, 5, 32, 32), tmp_path / "model.safetensors")
    image = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        assert torch.equal(again(image), trained(image))
