import math

import numpy as np
import pytest
import torch

from medldr.errors import InputError
from medldr.losses.balanced_softmax import LOSS, Config


def test_the_worked_values(spec_of):
    loss = LOSS(Config(), spec_of(100, 10, 1))
    z = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    assert loss(z, torch.tensor([2])).item() == pytest.approx(2.902098, abs=1e-6)
    assert loss(0 * z, torch.tensor([2])).item() == pytest.approx(4.709530, abs=1e-6)
    assert loss(0 * z, torch.tensor([2])).item() == pytest.approx(math.log(111), abs=1e-6)


def test_equals_the_published_form_for_classes_and_soft_labels(spec_of, sample):
    # The paper's own form: n_y exp(z_y) / sum_k n_k exp(z_k).
    logits, hard, soft = sample
    n = np.array([100, 10, 1])
    share = n * np.exp(logits.numpy())
    minus_log = -np.log(share / share.sum(1, keepdims=True))
    loss = LOSS(Config(), spec_of(*n))
    np.testing.assert_allclose(loss(logits, hard), minus_log[np.arange(6), hard], rtol=1e-6)
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * minus_log).sum(1), rtol=1e-6)


def test_the_gradient_of_each_sample_sums_to_zero(spec_of, sample):
    logits, hard, soft = sample
    loss = LOSS(Config(), spec_of(100, 10, 1))
    for target in (hard, soft):
        z = logits.clone().requires_grad_()
        loss(z, target).sum().backward()
        assert z.grad.abs().max() > 0.1
        torch.testing.assert_close(z.grad.sum(1), torch.zeros(6).double(), atol=1e-12, rtol=0)


def test_a_class_without_training_images_is_named(spec_of):
    with pytest.raises(InputError, match=r"balanced_softmax.*none of class 1, class 2\. Use"):
        LOSS(Config(), spec_of(5, 0, 0, 2))
