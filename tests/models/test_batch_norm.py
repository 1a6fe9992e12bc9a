"""Frozen batch normalisation: statistics stay, scale and shift train."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.errors import InputError
from medldr.models.base import FeatureModel

NETWORKS = {
    "resnet18": {"width": 0.125},
    "densenet121": {"width": 0.125, "stem": "small"},
    "timm": {"network": "test_resnet"},
}


def norms(model):
    return {name: m for name, m in model.named_modules() if isinstance(m, _BatchNorm)}


def statistics(model):
    return {n: (m.running_mean.clone(), m.running_var.clone()) for n, m in norms(model).items()}


def train_a_little(model, image):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    label = torch.tensor([0, 1, 2, 0])
    for _ in range(3):
        model.train()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(image), label).backward()
        optimizer.step()


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_statistics_stay_bit_for_bit_while_scale_and_shift_move(build, name, axes):
    if name == "timm" and axes == 3:
        pytest.skip("timm's networks are for 2D images")
    keys = NETWORKS[name]
    size = (8,) * axes
    model = build(name, 1, 3, size, batch_norm="frozen", **keys)
    assert len(norms(model)) > 5
    for norm in norms(model).values():
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
    before = statistics(model)
    affine = {n: (m.weight.clone(), m.bias.clone()) for n, m in norms(model).items()}
    train_a_little(model, torch.rand(4, 1, *size))
    assert model.training
    for key, norm in norms(model).items():
        assert not norm.training, key
        assert torch.equal(norm.running_mean, before[key][0]), key
        assert torch.equal(norm.running_var, before[key][1]), key
        assert norm.num_batches_tracked == 0
    assert any(not torch.equal(m.weight, affine[n][0]) for n, m in norms(model).items())
    assert any(not torch.equal(m.bias, affine[n][1]) for n, m in norms(model).items())


def test_live_statistics_move(build):
    model = build("resnet18", 1, 3, (8, 8), width=0.125)
    before = statistics(model)
    train_a_little(model, torch.rand(4, 1, 8, 8))
    assert all(not torch.equal(m.running_mean, before[n][0]) for n, m in norms(model).items())


def test_it_lasts_through_copies_layouts_and_shared_normalisation(build):
    model = build("resnet18", 1, 3, (8, 8), width=0.125, batch_norm="frozen")
    copied = copy.deepcopy(model).to_fast_memory().double()
    shared = copied.share_batch_norm()
    assert any(isinstance(m, nn.SyncBatchNorm) for m in shared.modules())
    for one in (copied, shared):
        nn.ModuleList([one]).train()  # as a part of something larger
        assert one.training
        assert not any(norm.training for norm in norms(one).values())


class Mixed(FeatureModel):
    """Every kind of batch normalisation."""

    def __init__(self, **keys):
        super().__init__(stage_dims=(4,), dim=4, num_classes=2)
        self.kinds = nn.ModuleList(
            kind(4, **keys)
            for kind in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)
        )
        self.other = nn.Dropout()


def test_every_kind_is_frozen_and_nothing_else():
    model = Mixed()
    model.freeze_batch_norm()
    model.train()
    assert not any(kind.training for kind in model.kinds)
    assert model.other.training
    model.eval()
    assert not model.other.training
    assert all(p.requires_grad for p in model.parameters())


def test_a_norm_without_statistics_cannot_be_frozen():
    with pytest.raises(InputError, match=r"model\.batch_norm: kinds\.0 keeps no running"):
        Mixed(track_running_stats=False).freeze_batch_norm()
