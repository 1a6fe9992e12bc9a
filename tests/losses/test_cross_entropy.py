import math

import numpy as np
import pytest
import torch

from medldr.losses.cross_entropy import LOSS, Config
from medldr.types import DataSpec

SPEC = DataSpec("multi-class", ("a", "b", "c"), (5, 5, 5), 1, (8, 8))


@pytest.fixture
def logits():
    return 3 * torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def reference(logits, target, smoothing=0.0):
    x = logits.numpy()
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    return -((target * (1 - smoothing) + smoothing / x.shape[1]) * log_p).sum(1)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_hard_and_soft_targets_equal_the_formula(logits, smoothing):
    loss = LOSS(Config(label_smoothing=smoothing), SPEC)
    hard = torch.tensor([0, 1, 2, 2, 1, 0])
    one_hot = np.eye(3)[hard.numpy()]
    np.testing.assert_allclose(loss(logits, hard), reference(logits, one_hot, smoothing))
    soft = torch.softmax(logits.flip(0), 1)
    np.testing.assert_allclose(loss(logits, soft), reference(logits, soft.numpy(), smoothing))


def test_one_value_per_sample_and_log_k_on_zero_logits():
    out = LOSS(Config(), SPEC)(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]))
    assert out.shape == (4,)
    assert out.tolist() == pytest.approx([math.log(3)] * 4)


def test_smoothing_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="label_smoothing"):
        Config(label_smoothing=1.0)
