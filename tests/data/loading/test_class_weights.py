"""Class weights, against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from medldr.data.loading.class_weights import class_weights
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
