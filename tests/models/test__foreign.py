"""Weights of any origin: names become the network's, heads are left out, the rest is held."""

import pytest
import timm
import torch

from medldr.errors import InputError
from medldr.folders.files import load_tensors, save_tensors
from medldr.models import build_model
from medldr.models.resnet18 import Config as ResNet18
from medldr.models.timm import Config

EDGE = 32
KEYS = {"init_values": 1e-5, "dynamic_img_size": True}


@pytest.fixture(scope="module")
def theirs():
    torch.manual_seed(3)
    return timm.create_model("test_vit", num_classes=0, img_size=EDGE, **KEYS).eval()


@pytest.fixture
def start(spec_of):
    """`start(path, **keys)`: a small ViT that starts from a file."""

    def make(path, **keys):
        config = Config(**{"network": "test_vit", "arguments": KEYS, "pretrained": path, **keys})
        return build_model(config, spec_of(3, 2, EDGE, EDGE), 0).eval()

    return make


def _saved(path, tensors):
    if path.suffix == ".safetensors":
        save_tensors(path, {name: value.contiguous() for name, value in tensors.items()})
    else:
        torch.save(tensors, path)
    return str(path)


@pytest.mark.parametrize("name", ["w.safetensors", "pytorch_model.bin", "w.pth", "w.PT"])
def test_a_file_of_either_kind_gives_timms_own_latents(theirs, start, tmp_path, name):
    model = start(_saved(tmp_path / name, theirs.state_dict()))
    image = torch.rand(2, 3, EDGE, EDGE)
    with torch.inference_mode():
        torch.testing.assert_close(model.features(image), theirs(image))
    assert any(f"a file, {name} (sha256 " in note for note in model.notes)


@pytest.mark.parametrize(
    ("prefix", "container"),
    [("module.", None), ("model.", "state_dict"), ("module.encoder.", "model"), ("network.", None)],
)
def test_prefixes_and_heads_are_taken_off_and_said(theirs, start, tmp_path, prefix, container):
    named = {f"{prefix}{name}": value for name, value in theirs.state_dict().items()}
    named |= {
        f"{prefix}head.weight": torch.zeros(9, 64),
        "module.dino_head.last.bias": torch.ones(1),
    }
    path = tmp_path / "w.pth"
    model = start(_saved(path, {container: named, "epoch": 3} if container else named))
    expected = theirs.state_dict()
    assert all(torch.equal(v, expected[k]) for k, v in model.network.state_dict().items())
    assert f"{prefix!r} was taken off the names in w.pth" in model.notes


def test_a_file_that_fits_two_networks_is_said_to(start, tmp_path):
    name = "efficientnet_lite0"
    path = _saved(tmp_path / "w.pth", timm.create_model(f"tf_{name}", num_classes=0).state_dict())
    for network, other in ((name, f"tf_{name}"), (f"tf_{name}", name)):
        notes = start(path, network=network, arguments={}).notes
        assert any(note.startswith(f"weights of {other} have the names") for note in notes)


def test_what_is_missing_or_too_much_is_one_message_of_at_most_eight_names(theirs, start, tmp_path):
    kept = {k: v for k, v in theirs.state_dict().items() if not k.startswith("blocks.1")}
    path = _saved(tmp_path / "w.pth", {**kept, "extra.weight": torch.ones(1)})
    with pytest.raises(InputError, match=r"blocks\.1.* and 6 more; it holds 1 more") as raised:
        start(path)
    assert str(raised.value).count("blocks.1.") == 8
    one = _saved(tmp_path / "x.pth", {**theirs.state_dict(), "extra.weight": torch.ones(1)})
    with pytest.raises(InputError, match=r"it holds extra\.weight, which the network does not"):
        start(one)


def test_weights_of_another_architecture_are_refused(start, tmp_path):
    path = _saved(tmp_path / "w.pth", timm.create_model("test_resnet").state_dict())
    with pytest.raises(InputError, match=r"does not hold weights of test_vit: it lacks"):
        start(path)


def test_a_file_that_could_execute_code_or_holds_no_tensors_is_refused(start, tmp_path):
    with pytest.raises(InputError, match=r"it could execute code"):
        start(_saved(tmp_path / "net.pt", {"net": torch.nn.Linear(1, 1)}))
    with pytest.raises(InputError, match=r"no tensors by name, but epoch"):
        start(_saved(tmp_path / "w.pth", {"epoch": 1}))
    with pytest.raises(InputError, match=r"model\.pretrained: .*there is no such file"):
        start(str(tmp_path / "absent.pth"))


def test_a_network_of_ours_starts_from_a_file_with_prefixes(spec_of, tmp_path):
    spec = spec_of(1, 2, 8, 8)
    first = build_model(ResNet18(name="resnet18", stem="imagenet"), spec, seed=1)
    theirs = {
        f"module.backbone.{name.removeprefix('network.')}": value
        for name, value in first.state_dict().items()
        if not name.startswith("head.")
    }
    path = _saved(tmp_path / "w.pth", {**theirs, "module.fc.weight": torch.zeros(9, 512)})
    config = ResNet18(name="resnet18", stem="imagenet", pretrained=path)
    ours = build_model(config, spec, seed=2)
    expected = first.state_dict()
    equal = {k for k, v in ours.state_dict().items() if torch.equal(v, expected[k])}
    assert expected.keys() - equal == {"head.weight", "head.bias"}


# ---------------------------------------------------------------- arguments


def test_arguments_are_those_of_the_networks_signature(start, tmp_path):
    for given, message in (
        ({"init_value": 1e-5}, r"takes no 'init_value'\. Did you mean 'init_values'"),
        ({"num_classes": 3}, r"num_classes cannot be set: the head is our own"),
    ):
        with pytest.raises(InputError, match=message):
            start(None, arguments=given)
    swish = start(None, arguments={"mlp_layer": "SwiGLU"})
    assert type(swish.network.blocks[0].mlp).__name__ == "SwiGLU"


# ---------------------------------------------------------------- the hub


@pytest.fixture
def hub(theirs, tmp_path):
    """A data folder in which a network of the hub lies as `hf download` puts it."""
    folder = tmp_path / "weights" / "hf-hub" / "group" / "encoder"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        '{"architecture": "test_vit", "num_classes": 0, "global_pool": "token", "model_args": '
        '{"init_values": 1e-5, "img_size": 32, "num_classes": 0}, "pretrained_cfg": '
        '{"mean": [0.1, 0.2, 0.3], "std": [1, 2, 3], "input_size": [3, 32, 32]}}'
    )
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    return tmp_path


def test_a_network_of_the_hub_says_which_it_is(hub, theirs, spec_of):
    config = Config(pretrained="hf-hub:group/encoder")
    model = build_model(config, spec_of(3, 2, EDGE, EDGE), 0, hub).eval()
    image = torch.rand(1, 3, EDGE, EDGE)
    with torch.inference_mode():
        torch.testing.assert_close(model.features(image), theirs(image))


@pytest.mark.parametrize("name", ["hf-hub:group/absent", "hf-hub:group/absent@v2"])
def test_a_hub_name_whose_files_are_not_here_says_how_to_get_them(tmp_path, spec_of, name):
    with pytest.raises(InputError, match=r"data fetch weights:hf-hub.*hf download group/absent"):
        build_model(Config(pretrained=name), spec_of(3, 2, EDGE, EDGE), 0, tmp_path)


@pytest.mark.parametrize("name", ["hf-hub:encoder", "hf-hub:../../etc", "hf-hub:a/..", "hf-hub:"])
def test_what_is_no_name_of_the_hub_is_refused(tmp_path, spec_of, name):
    with pytest.raises(InputError, match=r"should be hf-hub:OWNER/NAME"):
        build_model(Config(pretrained=name), spec_of(3, 2, EDGE, EDGE), 0, tmp_path)


def test_both_files_of_the_hub_are_fetched_on_demand(served, theirs, medldr, monkeypatch, tmp_path):
    folder, address = served
    (folder / "config.json").write_text('{"architecture": "test_vit"}')
    save_tensors(folder / "model.safetensors", theirs.state_dict())
    monkeypatch.setattr(
        "huggingface_hub.hf_hub_url", lambda repository, file, revision: f"{address}/{file}"
    )
    ended = medldr("data", "fetch", "weights:hf-hub:group/encoder", tmp_path)
    assert ended.code == 0, ended.err
    kept = tmp_path / "weights" / "hf-hub" / "group" / "encoder"
    assert (kept / "config.json").is_file()
    assert load_tensors(kept / "model.safetensors").keys() == theirs.state_dict().keys()


def test_true_is_timms_own_choice_among_its_weights(spec_of, tmp_path):
    config = Config(network="test_resnet", pretrained=True)
    with pytest.raises(InputError, match=r"timm/test_resnet\.r160_in1k is missing"):
        build_model(config, spec_of(3, 2, EDGE, EDGE), 0, tmp_path)
    plain = ResNet18(name="resnet18", stem="imagenet", pretrained=True)
    with pytest.raises(InputError, match=r"ResNet18_Weights\.IMAGENET1K_V1 is missing"):
        build_model(plain, spec_of(3, 2, EDGE, EDGE), 0, tmp_path)
