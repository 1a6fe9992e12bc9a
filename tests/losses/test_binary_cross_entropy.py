import numpy as np
import pytest
import torch

from medldr.losses.binary_cross_entropy import LOSS, Config
from medldr.types import DataSpec

NAN = float("nan")
SPEC = DataSpec("multi-label", ("a", "b", "c"), (5, 5, 5), 1, (8, 8))


@pytest.fixture
def loss():
    return LOSS(Config(), SPEC)


def test_known_entries_equal_the_formula(loss):
    logits = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    target = torch.tensor(
        [[1, 0, 1], [0, NAN, 1], [NAN, NAN, NAN], [0.25, 0.5, 1], [NAN, 0, NAN]]
    ).double()
    expected = []
    for x, t in zip(logits.numpy(), target.numpy(), strict=True):
        known = ~np.isnan(t)
        each = np.logaddexp(0, x[known]) - x[known] * t[known]
        expected.append(each.mean() if known.any() else 0.0)
    np.testing.assert_allclose(loss(logits, target), expected, rtol=1e-12)


def test_missing_entries_get_no_gradient(loss):
    logits = torch.randn(2, 3, requires_grad=True)
    loss(logits, torch.tensor([[1.0, NAN, 0.0], [NAN, NAN, NAN]])).sum().backward()
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad == 0).tolist() == [[False, True, False], [True, True, True]]
