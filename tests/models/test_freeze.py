"""What is frozen keeps its weights and statistics; what is added behind it trains."""

import copy

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from medldr.algorithms import build_algorithm
from medldr.algorithms.latentdr import Config as LatentDR
from medldr.errors import InputError
from medldr.folders.files import save_tensors
from medldr.models import build_model
from medldr.models.resnet18 import Config as ResNet18
from medldr.models.timm import Config as Timm
from medldr.types import Batch

NETWORKS = {
    "resnet18": {"width": 0.125},
    "resnet32": {"width": 0.125},
    "timm": {"network": "test_vit"},
    "timm maps": {"network": "test_convnext"},
    "timm norms": {"network": "test_resnet"},
}


@pytest.fixture
def net(build):
    def make(name, size=(32, 32), **keys):
        return build(name.split()[0], 3, 3, size, **NETWORKS[name], **keys)

    return make


def step(model, image):
    """One step of every weight that may move."""
    model.train()
    loss = model(image).square().sum()
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(trainable, lr=0.1)
    loss.backward()
    optimizer.step()


def moved(model, before):
    return {
        key
        for key, value in model.state_dict().items()
        if not torch.equal(value, before[key]) and not key.endswith("num_batches_tracked")
    }


@pytest.mark.parametrize("name", NETWORKS)
def test_all_leaves_head_and_adapter_alone_to_train(net, name):
    model = net(name, freeze="all", adapter="mlp")
    before = copy.deepcopy(model.state_dict())
    for _ in range(2):  # the first layer of the adapter moves once the second has
        step(model, torch.rand(4, 3, 32, 32))
    assert {key.partition(".")[0] for key in moved(model, before)} == {"head", "adapter"}
    assert not any(m.training for m in model.modules() if isinstance(m, nn.BatchNorm2d))


@pytest.mark.parametrize("name", NETWORKS)
def test_so_many_stages_stay_and_all_behind_them_move(net, name):
    model = net(name, freeze=2)
    before = copy.deepcopy(model.state_dict())
    image = torch.rand(4, 3, 32, 32)
    last, following = model.stages[1:3]
    held = {}

    def outputs():
        taps = {s: lambda v, s=s: held.setdefault(s, v.detach().clone()) for s in (last, following)}
        held.clear()
        with torch.inference_mode():
            model.eval().features(image, taps)
        return dict(held)

    first = outputs()
    step(model, image)
    second = outputs()
    assert torch.equal(first[last], second[last])
    assert not torch.equal(first[following], second[following])
    reached = {key for key, p in model.named_parameters() if p.grad is not None}
    assert reached == {key for key, p in model.named_parameters() if p.requires_grad}
    assert {key for key in moved(model, before) if "running" not in key} <= reached


def test_frozen_stages_are_not_normalised_by_the_batch(net):
    model = net("resnet18", freeze=2).train()
    norms = {n: m for n, m in model.named_modules() if isinstance(m, nn.BatchNorm2d)}
    frozen = [name for name, norm in norms.items() if not norm.training]
    assert frozen == ["network.bn1", *(n for n in frozen if "layer1" in n)]
    assert len(frozen) == 5


def test_a_stage_that_a_network_lacks_is_refused(net):
    whole = net("resnet18", freeze=5).network
    assert not any(p.requires_grad for p in whole.parameters())
    with pytest.raises(InputError, match=r"freeze: 6 stages, but this network has 5: stem, st"):
        net("resnet18", freeze=6)


@pytest.mark.parametrize("value", [0, -1, "some"])
def test_what_is_no_number_of_stages_is_refused(value):
    with pytest.raises(ValidationError):
        ResNet18(name="resnet18", freeze=value)


def test_volumes_and_their_networks_freeze_too(net):
    model = net("resnet18", (8, 8, 8), freeze=1)
    fixed = {k for k, p in model.named_parameters() if not p.requires_grad}
    assert fixed == {"network.conv1.weight", "network.bn1.weight", "network.bn1.bias"}


# ---------------------------------------------------------------- adapter


@pytest.mark.parametrize("adapter", ["linear", "mlp"])
def test_an_adapter_changes_nothing_at_first_and_is_part_of_the_latents(net, adapter):
    plain, adapted = net("resnet18").eval(), net("resnet18", adapter=adapter).eval()
    image = torch.rand(2, 3, 32, 32)
    with torch.inference_mode():
        assert torch.equal(plain.features(image), adapted.features(image))
        assert torch.equal(plain(image), adapted(image))
        for parameter in adapted.adapter.parameters():
            parameter.add_(0.1)
        assert not torch.equal(adapted.latents(image), adapted.features(image))


def test_latentdr_sees_adapted_latents(net, spec_of):
    model = net("resnet18", adapter="linear", freeze="all")
    nn.init.constant_(model.adapter.weight, 0.0)
    nn.init.constant_(model.adapter.bias, 3.0)
    method = build_algorithm(LatentDR(degrade="pool"), spec_of(3, 3, 32, 32), model, 0).train()
    row = torch.arange(6)
    batch = Batch(torch.rand(6, 3, 32, 32), row % 3, row % 1, row, row)
    output = method.loss(model.train(), batch)
    assert torch.equal(output.z, torch.full_like(output.z, 3.0))
    output.loss.backward()
    assert model.adapter.bias.grad is not None


def test_a_file_without_an_adapter_starts_a_network_with_one(spec_of, tmp_path):
    spec = spec_of(3, 2, 32, 32)
    first = build_model(Timm(network="test_resnet"), spec, 1)
    save_tensors(tmp_path / "w.safetensors", first.state_dict())
    keys = {"network": "test_resnet", "adapter": "mlp"}
    for key in ("weights", "pretrained"):
        model = build_model(Timm(**keys, **{key: str(tmp_path / "w.safetensors")}), spec, 2)
        image = torch.rand(2, 3, 32, 32)
        with torch.inference_mode():
            torch.testing.assert_close(model.eval().features(image), first.eval().features(image))
    assert torch.equal(
        build_model(Timm(**keys, weights=tmp_path / "w.safetensors"), spec, 2).head.weight,
        first.head.weight,
    )
