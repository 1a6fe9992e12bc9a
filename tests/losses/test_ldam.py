import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from medldr.errors import InputError
from medldr.losses.ldam import LOSS, Config
from medldr.models.base import CosineHead


@pytest.fixture
def build(spec_of):
    def make(*counts, scale=30.0, **keys):
        loss = LOSS(Config(**keys), spec_of(*counts))
        head = CosineHead(4, len(counts))
        head.scale = scale
        loss.bind(head)
        return loss

    return make


def test_the_worked_value(build):
    loss = build(256, 16, 1)
    loss.margins.copy_(torch.tensor([0.1, 0.3, 0.5]))
    cosines = torch.tensor([[0.5, 0.2, 0.1]], dtype=torch.float64)
    assert loss(30 * cosines, torch.tensor([2])).item() == pytest.approx(27.000123, abs=1e-6)


def test_margins_of_cifar_100_lt(spec_of, cifar100_lt):
    margins = LOSS(Config(), spec_of(*cifar100_lt)).margins
    found = [margins[k].item() for k in (0, 49, 99)]
    assert found == pytest.approx([0.158114, 0.279782, 0.5], abs=5e-7)


@pytest.mark.parametrize("scale", [1.0, 16.0, 30.0])
def test_equals_the_published_form_for_classes_and_soft_labels(scale, build, sample):
    # The paper's own form, class by class: s (cos_y - m_y) against s cos_k.
    logits, hard, soft = sample
    cosines = np.cos(logits.numpy())
    margins = 0.3 * (np.array([100, 10, 3]) / 3) ** -0.25
    per_class = np.zeros((6, 3))
    for y in range(3):
        z = scale * (cosines - margins[y] * np.eye(3)[y])
        per_class[:, y] = np.log(np.exp(z).sum(1)) - z[:, y]
    loss = build(100, 10, 3, scale=scale, max_margin=0.3)
    given = torch.from_numpy(scale * cosines)
    expected = per_class[np.arange(6), hard]
    np.testing.assert_allclose(loss(given, hard), expected, rtol=1e-5, atol=1e-6)
    expected = (soft.numpy() * per_class).sum(1)
    np.testing.assert_allclose(loss(given, soft), expected, rtol=1e-5, atol=1e-6)
    one_hot = functional.one_hot(hard, 3).double()
    np.testing.assert_allclose(loss(given, one_hot), loss(given, hard), rtol=1e-9, atol=1e-12)


def test_soft_labels_are_exact_in_float32_where_one_class_takes_all(build):
    # At the scale 30 the largest logit's share rounds to 1, and its margin decides the loss.
    loss = build(100, 10, 1)
    cosines = torch.tensor([[1.0, -1.0, -0.9], [0.6, 0.1, 0.1], [-1.0, 1.0, 0.5]])
    soft = torch.eye(3)
    small = loss(30 * cosines, soft)
    exact = loss(30 * cosines.double(), soft.double())
    torch.testing.assert_close(small.double(), exact, rtol=1e-5, atol=1e-9)
    z = (30 * cosines).requires_grad_()
    loss(z, soft).sum().backward()
    assert z.grad.isfinite().all()
    torch.testing.assert_close(z.grad.sum(1), torch.zeros(3), atol=1e-6, rtol=0)


def test_without_a_margin_it_is_cross_entropy(build, sample, cross_entropy):
    logits, hard, soft = sample
    loss = build(100, 10, 1, max_margin=0)
    reference = cross_entropy(logits)
    np.testing.assert_allclose(loss(logits, hard), reference[np.arange(6), hard])
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * reference).sum(1))


def test_equal_counts_give_all_classes_the_same_margin(spec_of):
    assert LOSS(Config(max_margin=0.4), spec_of(9, 9)).margins.tolist() == pytest.approx([0.4] * 2)


def test_the_scale_is_the_head_s_alone():
    head, z = CosineHead(4, 3), torch.randn(5, 4)
    head.scale = 30.0
    assert head(z).abs().max() <= 30 + 1e-4


def test_a_linear_head_is_refused(spec_of):
    with pytest.raises(InputError, match=r"ldam.*linear.*Set model\.head: cosine"):
        LOSS(Config(), spec_of(3, 1)).bind(nn.Linear(4, 2))


def test_without_a_head_it_says_what_is_missing(spec_of):
    with pytest.raises(RuntimeError, match="bind"):
        LOSS(Config(), spec_of(3, 1))(torch.zeros(1, 2), torch.tensor([0]))


def test_a_class_without_training_images_is_named(spec_of):
    with pytest.raises(InputError, match=r"ldam.*none of class 1"):
        LOSS(Config(), spec_of(5, 0, 2))
