import numpy as np
import pytest
import torch

from medldr.algorithms.base import accuracy, build_loss
from medldr.errors import InputError
from medldr.losses.cross_entropy import Config as CrossEntropyConfig


@pytest.fixture
def erm(standins):
    def make(task):
        spec = standins.make_spec(task)
        return standins.make_algorithm("erm", spec, standins.make_model(spec)).double()

    return make


def log_softmax(x):
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def test_the_default_loss_follows_the_task(standins):
    names = {
        task: type(build_loss(None, standins.make_spec(task))).__name__
        for task in ("multi-class", "binary", "ordinal", "multi-label")
    }
    assert names.pop("multi-label") == "BinaryCrossEntropy"
    assert set(names.values()) == {"CrossEntropy"}


def test_a_loss_that_does_not_fit_the_task_names_those_that_do(standins):
    with pytest.raises(InputError, match=r"does not fit multi-label.*binary_cross_entropy"):
        build_loss(CrossEntropyConfig(), standins.make_spec("multi-label"))


def test_without_class_weights_it_is_the_mean(erm):
    logits, label = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0, 0])
    expected = -log_softmax(logits.numpy())[np.arange(6), label.numpy()].mean()
    assert erm("multi-class").classification_loss(logits, label).item() == pytest.approx(expected)


def test_class_weights_are_those_of_torch(erm):
    algorithm, weights = erm("multi-class"), torch.tensor([1.0, 2.0, 0.0, 4.0]).double()
    logits, label = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0, 0])
    algorithm.use_class_weights(weights)
    expected = torch.nn.functional.cross_entropy(logits, label, weights)
    torch.testing.assert_close(algorithm.classification_loss(logits, label), expected)
    one_hot = torch.nn.functional.one_hot(label, 4).double()
    torch.testing.assert_close(algorithm.classification_loss(logits, one_hot), expected)


def test_a_target_that_all_samples_share_is_not_changed_by_class_weights(erm):
    # Why the degraded term does not depend on class weights.
    algorithm = erm("multi-class")
    logits = torch.randn(6, 4, dtype=torch.float64)
    soft = torch.tensor([0.5, 0.25, 0.25, 0.0]).double().expand(6, 4)
    plain = algorithm.classification_loss(logits, soft)
    algorithm.use_class_weights(torch.tensor([1.0, 2.0, 3.0, 4.0]).double())
    torch.testing.assert_close(algorithm.classification_loss(logits, soft), plain)


def test_multi_label_samples_weigh_by_their_positives(erm):
    algorithm = erm("multi-label")
    algorithm.use_class_weights(torch.tensor([1.0, 2.0, 3.0, 4.0]).double())
    target = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [float("nan"), 0, 0, 1]]).double()
    logits = torch.randn(3, 4, dtype=torch.float64)
    per_row = []
    for x, t in zip(logits.numpy(), target.numpy(), strict=True):
        known = ~np.isnan(t)
        per_row.append((np.logaddexp(0, x[known]) - x[known] * t[known]).mean())
    weights = np.array([3.0, 1.0, 4.0])
    expected = (per_row * weights).sum() / weights.sum()
    found = algorithm.classification_loss(logits, target)
    assert found.item() == pytest.approx(expected, rel=1e-10)


def test_a_batch_without_any_weight_counts_nothing(erm):
    algorithm = erm("multi-class")
    algorithm.use_class_weights(torch.tensor([0.0, 1.0, 1.0, 1.0]).double())
    loss = algorithm.classification_loss(torch.randn(3, 4).double(), torch.zeros(3).long())
    assert loss == 0


def test_class_weights_reach_the_algorithm_within(standins):
    spec = standins.make_spec()
    algorithm = standins.make_algorithm(
        "latentdr", spec, standins.make_model(spec), base="outside.projection"
    )
    weights = torch.arange(4.0)
    algorithm.use_class_weights(weights)
    assert algorithm.base.class_weights is weights
    algorithm.use_class_weights(None)
    assert algorithm.base.class_weights is None


def test_class_weights_are_no_part_of_the_state(erm):
    algorithm = erm("multi-class")
    algorithm.use_class_weights(torch.ones(4).double())
    assert "class_weights" not in algorithm.state_dict()


def test_accuracy_of_multi_label_counts_known_entries():
    logits = torch.tensor([[2.0, -1.0, 3.0], [-1.0, 1.0, 0.5]])
    label = torch.tensor([[1.0, float("nan"), 0.0], [0.0, 1.0, float("nan")]])
    assert accuracy(logits, label) == 0.75
    assert accuracy(logits, torch.full((2, 3), float("nan"))).isnan()
