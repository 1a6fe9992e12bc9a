import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from medldr.types import DataSpec


@pytest.fixture
def spec_of():
    """A multi-class specification with these training counts."""

    def make(*counts):
        names = tuple(f"class {k}" for k in range(len(counts)))
        return DataSpec("multi-class", names, counts, 1, (8, 8))

    return make


@pytest.fixture
def sample():
    """Logits of six samples of three classes in float64, their classes, and soft labels."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(6, 3, dtype=torch.float64, generator=generator)
    soft = torch.rand(6, 3, dtype=torch.float64, generator=generator)
    return logits, torch.tensor([0, 1, 2, 2, 1, 0]), soft / soft.sum(1, keepdim=True)


@pytest.fixture
def cross_entropy():
    """``(B, K)`` NumPy: the cross-entropy of each sample if class k were the true one."""
    return lambda logits: -log_softmax(np.asarray(logits), axis=1)


@pytest.fixture
def cifar100_lt():
    """Training counts of CIFAR-100-LT with an imbalance of 100."""
    return tuple(int(500 * 0.01 ** (k / 99)) for k in range(100))
