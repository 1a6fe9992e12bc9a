import numpy as np
import pytest
import torch

from medldr.errors import InputError
from medldr.losses.logit_adjusted import LOSS, Config


def test_the_worked_value_is_that_of_balanced_softmax(spec_of):
    loss = LOSS(Config(), spec_of(100, 10, 1))
    z = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64)
    assert loss(z, torch.tensor([2])).item() == pytest.approx(2.902098, abs=1e-6)


@pytest.mark.parametrize("tau", [0.0, 0.5, 1.0, 2.0])
def test_equals_the_published_form_for_classes_and_soft_labels(tau, spec_of, sample):
    # The paper's own form: log(1 + sum_{k != y} (pi_k / pi_y)^tau exp(z_k - z_y)).
    logits, hard, soft = sample
    z, pi = logits.numpy(), np.array([100, 10, 1]) / 111
    per_class = np.zeros((6, 3))
    for y in range(3):
        others = [(pi[k] / pi[y]) ** tau * np.exp(z[:, k] - z[:, y]) for k in range(3) if k != y]
        per_class[:, y] = np.log1p(sum(others))
    loss = LOSS(Config(tau=tau), spec_of(100, 10, 1))
    np.testing.assert_allclose(loss(logits, hard), per_class[np.arange(6), hard], rtol=2e-6)
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * per_class).sum(1), rtol=2e-6)


def test_a_class_without_training_images_is_named(spec_of):
    with pytest.raises(InputError, match=r"logit_adjusted.*none of class 1"):
        LOSS(Config(), spec_of(5, 0, 2))
