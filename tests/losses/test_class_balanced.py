import numpy as np
import pytest

from medldr.losses.class_balanced import LOSS, Config


def test_weights_of_cifar_100_lt(spec_of, cifar100_lt):
    weights = LOSS(Config(beta=0.9999), spec_of(*cifar100_lt)).weights
    assert weights[0].item() == pytest.approx(0.044876, abs=5e-7)
    assert weights[99].item() == pytest.approx(4.378313, abs=2e-6)
    assert weights.sum().item() == pytest.approx(100, abs=1e-4)


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.9999])
def test_equals_the_formula_for_classes_and_soft_labels(beta, spec_of, sample, cross_entropy):
    logits, hard, soft = sample
    w = (1 - beta) / (1 - beta ** np.array([100.0, 10.0, 1.0]))
    per_class = cross_entropy(logits) * w * 3 / w.sum()
    loss = LOSS(Config(beta=beta), spec_of(100, 10, 1))
    np.testing.assert_allclose(loss(logits, hard), per_class[np.arange(6), hard], rtol=1e-6)
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * per_class).sum(1), rtol=1e-6)


def test_a_class_without_training_images_weighs_1(spec_of):
    weights = LOSS(Config(beta=0.5), spec_of(3, 0, 1)).weights
    assert weights.tolist() == pytest.approx([8 / 11, 1, 14 / 11])
