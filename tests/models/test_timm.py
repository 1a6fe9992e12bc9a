"""timm's networks in our five (or four) stages, against timm's own features."""

import copy
import importlib.util
import re

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from pydantic import ValidationError
from timm.data import create_transform, resolve_data_config
from torch import nn

from medldr.algorithms import build_algorithm
from medldr.algorithms.manifold_mixup import Config as ManifoldMixupConfig
from medldr.algorithms.mixstyle import Config as MixStyleConfig
from medldr.config import load_config
from medldr.errors import InputError
from medldr.folders.files import load_tensors, save_tensors
from medldr.models import build_model
from medldr.models._timm import find_weights
from medldr.models.base import STAGES
from medldr.models.timm import Config
from medldr.transforms import ImageShape, build_pixel_rule

SMALL = {  # name: stages, whether they are maps, size of the images
    "test_resnet": (STAGES, True, 32),
    "test_convnext": (STAGES[1:], True, 32),
    "test_vit": (STAGES[1:], False, 64),
    "swin_tiny_patch4_window7_224": (STAGES[1:], True, 64),
}


@pytest.fixture
def net(build):
    def make(network, channels=3, size=(32, 32), **keys):
        return build("timm", channels, 3, size, network=network, **keys).eval()

    return make


@pytest.mark.parametrize("network", SMALL)
def test_stages_have_the_names_and_widths_promised_channels_second_or_tokens_last(net, network):
    stages, maps, edge = SMALL[network]
    model = net(network, size=(edge, edge))
    seen = {}
    taps = {stage: lambda v, s=stage: seen.setdefault(s, v) for stage in stages}
    with torch.inference_mode():
        z = model.features(torch.rand(2, 3, edge, edge), taps)
    assert model.stages == tuple(seen) == stages
    assert tuple(v.shape[1 if maps else 2] for v in seen.values()) == model.stage_dims
    assert {v.ndim for v in seen.values()} == {4 if maps else 3}
    assert model.maps is maps
    assert z.shape == (2, model.dim)


@pytest.mark.slow
@pytest.mark.parametrize("network", SMALL)
def test_features_are_timms_own_for_the_same_weights(net, network):
    edge = SMALL[network][2]
    model = net(network, size=(edge, edge))
    fixed = {} if network in ("test_resnet", "test_convnext") else {"img_size": edge}
    theirs = timm.create_model(network, num_classes=0, **fixed).eval()
    theirs.load_state_dict(model.network.state_dict())
    model, theirs = model.double(), theirs.double()  # float32 differs in its rounding by layout
    image = torch.rand(2, 3, edge, edge, dtype=torch.float64)
    with torch.inference_mode():
        torch.testing.assert_close(model.features(image), theirs(image), rtol=1e-10, atol=1e-10)


def test_a_tap_of_a_copy_leaves_the_model_alone(net):
    model = net("test_resnet")
    copied = copy.deepcopy(model)
    calls = []
    copied.features(torch.rand(1, 3, 32, 32), {"stage1": lambda v: calls.append(1) or v})
    model.features(torch.rand(1, 3, 32, 32))
    assert len(calls) == 1


@pytest.mark.parametrize(("network", "dim"), [("resnet18", 512), ("resnet50", 2048)])
def test_resnets_have_the_same_size_as_ours(net, network, dim):
    model = net(network)
    assert model.dim == dim
    parameters = sum(p.numel() for p in model.network.parameters())
    # torchvision's published counts, less their heads of 1,000 classes.
    published = {"resnet18": 11_689_512 - 513_000, "resnet50": 25_557_032 - 2_049_000}
    assert parameters == published[network]


def test_a_norm_that_ends_a_stage_keeps_its_tap_and_its_activation_when_it_is_shared(net):
    model = net("densenet121").share_batch_norm()
    seen = []
    with torch.inference_mode():
        values = model.network.features.norm5
        assert isinstance(values, nn.SyncBatchNorm)
        model.features(torch.rand(1, 3, 32, 32), {"stage4": lambda v: seen.append(v) or v})
    assert len(seen) == 1
    assert seen[0].min() >= 0


def test_a_network_of_one_size_is_made_for_the_size_of_the_data(net):
    assert net("vit_tiny_patch16_224", size=(48, 32)).network.pos_embed.shape == (1, 7, 192)


@pytest.mark.parametrize(
    ("network", "edge", "furthest"),
    [("resnet18", 224, 1e-6), ("test_resnet", 200, 1e-2), ("tf_efficientnet_lite0", 96, 1e-2)],
)
def test_a_network_sees_the_pixels_of_timms_own_transform(network, edge, furthest):
    """Of the whole picture: timm's crop is left out. Pillow rounds to 8 bits after each axis."""
    blocks = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    picture = Image.fromarray(blocks).resize((edge, edge), Image.Resampling.BICUBIC)
    model = {"name": "timm", "network": network, "pretrained": "start.pth"}
    parts = ["recipe/own_2d", "data/phantom_histology"]
    config = load_config({"extends": parts, "algorithm": "erm", "model": model})
    rule = build_pixel_rule(config.transform, ImageShape(3, (edge, edge)))
    own = resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(network).to_dict())
    theirs = create_transform(**own | {"crop_pct": 1.0})(picture)
    ours = rule(torch.from_numpy(np.array(picture)).movedim(-1, 0)[None], train=False)[0]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=furthest)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("resnet5O", r"model\.network: timm has no network 'resnet5O'\. Did you mean 'resnet50'"),
        ("resnet50.a1_in1k", r"Set model\.network: resnet50, .*pretrained: timm/resnet50\.a1_in1k"),
        ("hf-hub:someone/net", r"timm has no network 'hf-hub:someone/net'"),
        ("levit_128s", r"reports 3 feature levels, but its stages need 4"),
        ("hrnet_w18_small", r"stages of hrnet_w18_small cannot be identified"),
    ],
)
def test_what_is_no_usable_network_is_refused(net, network, message):
    with pytest.raises(InputError, match=message):
        net(network, size=(224, 224))


def test_images_that_a_network_cannot_take_are_refused_with_the_cure(net):
    with pytest.raises(InputError, match=r"test_vit cannot .*\(30, 30\).*transform\.size"):
        net("test_vit", size=(30, 30))


def test_volumes_are_refused(net):
    with pytest.raises(InputError, match=r"timm is for 2D images"):
        net("test_resnet", size=(8, 8, 8))


def test_a_width_is_refused():
    with pytest.raises(ValidationError, match=r"leave model\.width at 1"):
        Config(network="test_resnet", width=0.5)


def test_without_the_package_the_extra_is_named(net, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n == "timm" else find(n))
    with pytest.raises(InputError, match=r"pip install 'medldr\[timm\]'"):
        net("test_resnet")


def test_mixstyle_is_refused_on_tokens_and_manifold_mixup_is_not(net, spec_of):
    spec = spec_of(3, 3, 64, 64)
    model = net("test_vit", size=(64, 64))
    with pytest.raises(InputError, match=r"algorithm\.stages: .*tokens.*resnet50"):
        build_algorithm(MixStyleConfig(), spec, model, seed=0)
    build_algorithm(ManifoldMixupConfig(), spec, model, seed=0)


def test_a_stage_that_a_network_lacks_is_refused_when_the_method_is_made(net, spec_of):
    spec = spec_of(3, 3, 32, 32)
    model = net("test_convnext")
    build_algorithm(MixStyleConfig(), spec, model, seed=0)
    with pytest.raises(InputError, match=r"no stage 'stem'.*Its stages: stage1, stage2"):
        build_algorithm(MixStyleConfig(stages=("stem",)), spec, model, seed=0)
    with pytest.raises(InputError, match=r"taps: this network has no stage 'stem'"):
        model.features(torch.rand(1, 3, 32, 32), {"stem": nn.Identity()})


# ---------------------------------------------------------------- published weights


def test_the_address_is_that_of_a_safetensors_file():
    found = find_weights("ResNet50.A1_in1k")
    assert (found.name, found.network) == ("resnet50.a1_in1k", "resnet50")
    assert re.fullmatch(r"https://\S+/timm/resnet50\.a1_in1k/\S+/model\.safetensors", found.url)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet50", r"Known for resnet50: timm/resnet50\.a1_in1k, .*timm/resnet50\.tv_in1k"),
        ("resnet50.a1_in1", r"Did you mean 'timm/resnet50\.a1_in1k'"),
        ("gcvit_tiny.in1k", r"not published as safetensors"),
    ],
)
def test_weights_that_cannot_be_had_are_told(name, message):
    with pytest.raises(InputError, match=message):
        find_weights(name)


@pytest.fixture
def start(spec_of, tmp_path):
    """`start(network, tag, channels, edge)`: timm's own network, saved, and ours made from it."""

    def make(network, tag, channels=3, edge=64, *, change=None):
        torch.manual_seed(5)
        config = timm.get_pretrained_cfg(f"{network}.{tag}")
        theirs = timm.create_model(network, num_classes=config.num_classes).eval()
        state = theirs.state_dict()
        if change:
            change(state)
        path = tmp_path / "weights" / "timm" / f"{network}.{tag}.safetensors"
        path.parent.mkdir(parents=True, exist_ok=True)
        save_tensors(path, state)
        ours = build_model(
            Config(network=network, pretrained=f"timm/{network}.{tag}"),
            spec_of(channels, 3, edge, edge),
            seed=1,
            root=tmp_path,
        )
        return theirs, ours.eval()

    return make


@pytest.mark.parametrize(
    ("network", "tag", "edge"),
    [
        ("test_resnet", "r160_in1k", 64),
        ("test_convnext", "r160_in1k", 64),
        ("test_vit", "r160_in1k", 160),
    ],
)
def test_a_network_starts_from_timms_file(start, network, tag, edge):
    theirs, ours = start(network, tag, edge=edge)
    image = torch.rand(2, 3, edge, edge)
    with torch.inference_mode():
        expected = theirs.forward_head(theirs.forward_features(image), pre_logits=True)
        torch.testing.assert_close(ours.features(image), expected, rtol=1e-6, atol=1e-6)
    (note,) = ours.notes
    assert f"timm/{network}.{tag}, {network}.{tag}.safetensors (sha256 " in note
    assert ours.head.out_features == 3


def test_grey_images_give_what_three_equal_channels_gave(start):
    theirs, ours = start("test_resnet", "r160_in1k", channels=1)
    grey = torch.rand(2, 1, 64, 64)
    with torch.inference_mode():
        colours = theirs.forward_features(grey.expand(-1, 3, -1, -1))
        expected = theirs.forward_head(colours, pre_logits=True)
        torch.testing.assert_close(ours.features(grey), expected, rtol=1e-4, atol=1e-5)


def test_position_embeddings_follow_the_size_of_the_data(start):
    theirs, ours = start("test_vit", "r160_in1k", edge=64)
    assert theirs.pos_embed.shape == (1, 101, 64)
    assert ours.network.pos_embed.shape == (1, 17, 64)


def test_a_file_that_lacks_a_name_is_refused(start):
    with pytest.raises(InputError, match=r"does not hold weights of test_resnet.*layer1"):
        start("test_resnet", "r160_in1k", change=lambda s: s.pop("layer1.0.bn1.weight"))


def test_weights_of_another_network_are_refused(spec_of, tmp_path):
    config = Config(network="test_vit", pretrained="timm/test_resnet.r160_in1k")
    with pytest.raises(InputError, match=r"to the network timm with model\.network: test_resnet"):
        build_model(config, spec_of(3, 2, 64, 64), 0, tmp_path)


def test_absent_weights_name_the_command(spec_of, tmp_path):
    config = Config(network="test_resnet", pretrained="timm/test_resnet.r160_in1k")
    with pytest.raises(InputError, match=r"fetch weights:timm/test_resnet\.r160_in1k`"):
        build_model(config, spec_of(3, 2, 64, 64), 0, tmp_path)


def test_the_command_fetches_a_file_and_says_that_no_checksum_is_published(
    served, tmp_path, medldr, monkeypatch
):
    folder, address = served
    state = timm.create_model("test_resnet").state_dict()
    save_tensors(folder / "model.safetensors", state)
    asked = []

    def url(repository, file, revision):
        asked.append((repository, file, revision))
        return f"{address}/{file}"

    monkeypatch.setattr("huggingface_hub.hf_hub_url", url)
    ended = medldr("data", "fetch", "weights:timm/test_resnet.r160_in1k", tmp_path)
    assert ended.code == 0, ended.err
    assert "no checksum is published" in ended.out
    assert asked == [("timm/test_resnet.r160_in1k", "model.safetensors", None)]
    path = tmp_path / "weights" / "timm" / "test_resnet.r160_in1k.safetensors"
    assert load_tensors(path).keys() == state.keys()
