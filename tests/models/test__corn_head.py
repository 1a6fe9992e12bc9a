"""The head of ordered classes against products of sigmoids in NumPy, and where floats end."""

import numpy as np
import pytest
import torch
from torch import nn

from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import grad_cam
from medldr.models import build_model
from medldr.models._corn_head import CornHead
from medldr.models.base import FeatureModel, ModelConfig
from medldr.models.resnet18 import Config
from medldr.types import DataSpec

TINY = {"width": 0.125, "stem": "small"}


@pytest.fixture
def of_logits():
    """`of_logits(logits)`: a head's output where its decisions have these logits."""

    def make(logits):
        head = CornHead(logits.shape[1], logits.shape[1] + 1).double()
        head.decisions = nn.Identity()
        return head(logits)

    return make


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_equals_differences_of_products_of_sigmoids(classes):
    head = CornHead(7, classes).double()
    z = 3 * torch.randn(9, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    weight, bias = (p.detach().numpy() for p in head.decisions.parameters())
    above = np.cumprod(1 / (1 + np.exp(-(z.numpy() @ weight.T + bias))), axis=1)
    assert (np.diff(above) <= 0).all()
    limits = np.concatenate([np.ones((9, 1)), above, np.zeros((9, 1))], axis=1)
    found = head(z).detach()
    np.testing.assert_allclose(found.exp(), -np.diff(limits), rtol=1e-10, atol=1e-15)
    torch.testing.assert_close(found.softmax(1), found.exp())


def test_confident_decisions_leave_logarithms_and_gradients_finite(of_logits):
    for size in (40.0, 1e4):
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            logits = size * torch.tensor([signs], dtype=torch.float32)
            logits.requires_grad_()
            log_p = of_logits(logits)
            log_p.sum().backward()
            assert log_p.isfinite().all()
            assert logits.grad.isfinite().all()
    surest = of_logits(torch.tensor([[-40.0, 0.0]], dtype=torch.float64))
    # A plain difference of products would be 0 or 1 here.
    np.testing.assert_allclose(surest[0, 1:], -40 - np.log([2, 2]), rtol=1e-12)
    assert surest[0, 0] == pytest.approx(-np.exp(-40.0))


def test_has_one_decision_less_than_classes_and_no_row_per_class():
    shapes = {name: tuple(value.shape) for name, value in CornHead(6, 4).state_dict().items()}
    assert shapes == {"decisions.weight": (3, 6), "decisions.bias": (3,)}
    assert not hasattr(CornHead(6, 4), "weight")  # which methods read as one row per class


def test_a_network_has_logits_of_all_classes_and_a_head_that_a_freeze_leaves_trainable():
    config = ModelConfig(name="any", head="corn")
    model = FeatureModel(stage_dims=(5,), dim=5, num_classes=4, config=config)
    model.freeze_features()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model.classify(torch.randn(3, 5))
    assert (logits.shape, logits.dtype) == ((3, 4), torch.float32)
    logits[:, 2].sum().backward()
    assert all(p.grad is not None for p in model.head.parameters())


def test_other_labels_are_refused_with_the_key(build):
    with pytest.raises(InputError, match=r"model\.head: corn .*multi-class.*data\.ordinal: true"):
        build("resnet18", 1, 3, (8, 8), head="corn", **TINY)


def test_heat_maps_of_grades_differ():
    spec = DataSpec("ordinal", ("0", "1", "2"), (1, 1, 1), 1, (16, 16))
    model = build_model(Config(name="resnet18", head="corn", **TINY), spec, seed=0).eval()
    image = torch.rand(1, 1, 16, 16, generator=torch.Generator().manual_seed(0))
    maps = [torch.as_tensor(heat) for heat in grad_cam(model, image.expand(2, -1, -1, -1), [0, 2])]
    assert all(heat.isfinite().all() for heat in maps)
    assert not torch.equal(maps[0], maps[1])
