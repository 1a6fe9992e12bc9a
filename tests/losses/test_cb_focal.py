import numpy as np
import pytest

from medldr.losses.cb_focal import LOSS, Config


@pytest.mark.parametrize(("beta", "gamma"), [(0.0, 2.0), (0.9, 0.5), (0.9999, 1.0)])
def test_equals_the_formula_for_classes_and_soft_labels(beta, gamma, spec_of, sample):
    logits, hard, soft = sample
    w = (1 - beta) / (1 - beta ** np.array([100.0, 10.0, 1.0]))
    p = np.exp(logits.numpy())
    p /= p.sum(1, keepdims=True)
    per_class = -w * 3 / w.sum() * (1 - p) ** gamma * np.log(p)
    loss = LOSS(Config(beta=beta, gamma=gamma), spec_of(100, 10, 1))
    np.testing.assert_allclose(loss(logits, hard), per_class[np.arange(6), hard], rtol=1e-6)
    np.testing.assert_allclose(loss(logits, soft), (soft.numpy() * per_class).sum(1), rtol=1e-6)


def test_a_class_without_training_images_weighs_1(spec_of):
    weights = LOSS(Config(beta=0.5), spec_of(3, 0, 1)).weights
    assert weights.tolist() == pytest.approx([8 / 11, 1, 14 / 11])
