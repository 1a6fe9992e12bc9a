"""Two classes while training: the named class is scored."""

import pytest

TWO = {"data.classes": 2, "training.epochs": 3, "training.select": ("val_auc", "last")}


def test_validation_is_of_the_named_class(train, rows_of):
    second = rows_of(train(TWO, "second").folder)
    first = rows_of(train({**TWO, "evaluation.positive_class": "a"}, "first").folder)
    for one, other in zip(first, second, strict=True):
        assert one["val/sensitivity"] == other["val/specificity"]
        assert one["val/specificity"] == other["val/sensitivity"]
        assert one["val/auc"] == pytest.approx(other["val/auc"], abs=1e-12)
        assert one["val/loss"] == other["val/loss"]
    assert any(row["val/sensitivity"] != row["val/specificity"] for row in second)
