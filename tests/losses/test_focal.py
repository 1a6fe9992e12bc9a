import numpy as np
import pytest
import torch

from medldr.losses.focal import LOSS, Config


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0, 5.0])
def test_equals_the_formula_for_classes_and_soft_labels(gamma, spec_of, sample):
    logits, hard, soft = sample
    p = np.exp(logits.numpy())
    p /= p.sum(1, keepdims=True)
    per_class = -((1 - p) ** gamma) * np.log(p)
    loss = LOSS(Config(gamma=gamma), spec_of(3, 2, 1))
    np.testing.assert_allclose(loss(logits, hard), per_class[np.arange(6), hard], rtol=1e-9)
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * per_class).sum(1), rtol=1e-9)


def test_a_likely_sample_fades_as_the_square_of_what_is_missing(spec_of):
    p = torch.tensor([[0.9, 0.1], [0.1, 0.9]], dtype=torch.float64)
    fade, rest = LOSS(Config(), spec_of(1, 1))(p.log(), torch.tensor([0, 0])).tolist()
    assert fade == pytest.approx(-0.01 * np.log(0.9))
    assert rest == pytest.approx(-0.81 * np.log(0.1))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
def test_certainty_has_a_finite_gradient(gamma, spec_of):
    z = torch.tensor([[200.0, 0.0], [0.0, 200.0]], requires_grad=True)
    loss = LOSS(Config(gamma=gamma), spec_of(1, 1))(z, torch.tensor([0, 0]))
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([0, 200])
    assert z.grad.isfinite().all()


def test_it_needs_no_counts(spec_of):
    LOSS(Config(), spec_of(3, 0))
