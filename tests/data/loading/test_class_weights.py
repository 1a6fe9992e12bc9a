"""Class weights, against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from medldr.config.training_options import BalancedWeights, EffectiveNumberWeights
from medldr.data.loading.class_weights import class_weights, effective_number
from medldr.errors import InputError
from medldr.types import DataSpec


def spec(*counts, task="multi-class"):
    return DataSpec(task, tuple("abcdef"[: len(counts)]), counts, 1, (8, 8))


def test_balanced_equals_scikit_learn():
    labels = np.repeat([0, 1, 2], [700, 37, 5])
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=labels)
    ours = class_weights("balanced", spec(700, 37, 5))
    np.testing.assert_allclose(ours.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("counts", [(5, 3, 0), (0, 0, 9), (0, 4, 0)])
def test_absent_classes_leave_all_weights_finite(counts):
    weights = class_weights("balanced", spec(*counts))
    assert torch.isfinite(weights).all()
    assert weights[torch.tensor(counts) == 0].eq(1).all()
    mean = (weights * torch.tensor(counts)).sum() / sum(counts)
    assert mean.item() == pytest.approx(1)


def test_a_list_is_taken_as_it_is_and_nothing_stays_nothing():
    assert class_weights((1.0, 2.0), spec(3, 4)).tolist() == [1, 2]
    assert class_weights(None, spec(3, 4)) is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ((1.0,), r"has 1 numbers, but there are 2 classes: a, b"),
        ((1.0, -1.0), "finite numbers from 0 up"),
        ((0.0, 0.0), "not all 0"),
        ((1.0, float("nan")), "finite"),
    ],
)
def test_a_useless_list_is_refused(setting, message):
    with pytest.raises(InputError, match=message):
        class_weights(setting, spec(3, 4))


def test_balance_is_refused_where_rows_have_several_labels():
    with pytest.raises(InputError, match="multi-label"):
        class_weights("balanced", spec(3, 4, task="multi-label"))


def test_effective_numbers_are_those_of_the_formula():
    counts = np.array([500, 40, 3, 1])
    w = (1 - 0.99) / (1 - 0.99**counts)
    setting = EffectiveNumberWeights(kind="effective_number", beta=0.99)
    found = class_weights(setting, spec(*counts))
    np.testing.assert_allclose(found.numpy(), w * 4 / w.sum(), rtol=1e-6)


def test_effective_numbers_of_cifar_100_lt():
    counts = [int(500 * 0.01 ** (k / 99)) for k in range(100)]
    found = effective_number(counts, 0.9999)
    assert found[0].item() == pytest.approx(0.044876, abs=5e-7)
    assert found[99].item() == pytest.approx(4.378313, abs=5e-7)
    assert found.sum().item() == pytest.approx(100)


def test_effective_numbers_run_from_equal_weights_to_inverse_counts():
    counts = [8, 4, 2, 1]
    assert effective_number(counts, 0.0).tolist() == pytest.approx([1] * 4)
    inverse = 1 / np.array(counts)
    near = effective_number(counts, 1 - 1e-12)
    np.testing.assert_allclose(near.numpy(), inverse * 4 / inverse.sum(), rtol=1e-6)


def test_effective_numbers_leave_an_absent_class_neutral():
    assert effective_number([3, 0, 1], 0.5).tolist() == pytest.approx([8 / 11, 1, 14 / 11])


def test_a_mapping_with_balanced_is_balanced():
    setting = BalancedWeights(kind="balanced", start=5)
    assert torch.equal(class_weights(setting, spec(5, 2)), class_weights("balanced", spec(5, 2)))


def test_effective_numbers_are_refused_where_rows_have_several_labels():
    setting = EffectiveNumberWeights(kind="effective_number")
    with pytest.raises(InputError, match="effective_number has no meaning for multi-label"):
        class_weights(setting, spec(3, 4, task="multi-label"))
