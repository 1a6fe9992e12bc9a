"""Chance level against scikit-learn's classifier that ignores its input."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score

from medldr.evaluation.class_mix import shares
from medldr.evaluation.comparison.comparison import Size
from medldr.reporting.results.class_mix import chance


@pytest.mark.parametrize("p", [(0.7, 0.3), (0.2, 0.5, 0.3)])
def test_always_the_most_frequent_class(p):
    label = np.random.default_rng(3).choice(len(p), 200, p=p)
    dummy = DummyClassifier(strategy="most_frequent").fit(np.zeros((200, 1)), label)
    decided, prob = dummy.predict(np.zeros((200, 1))), dummy.predict_proba(np.zeros((200, 1)))
    mix = shares(np.eye(len(p))[label])
    found = chance(Size(200, class_shares=dict(zip("abc", mix, strict=False))), "multi-class")
    assert found.name == "abc"[decided[0]]
    assert found.values["accuracy"] == pytest.approx(accuracy_score(label, decided))
    assert found.values["balanced_accuracy"] == pytest.approx(
        balanced_accuracy_score(label, decided)
    )
    scores = prob[:, 1] if len(p) == 2 else prob
    assert found.values["auc"] == roc_auc_score(label, scores, multi_class="ovr")


def test_of_several_labels_each_has_its_likelier_answer():
    label = (np.random.default_rng(4).random((100, 3)) < [0.1, 0.6, 0.4]).astype(float)
    each = [max((column == 1).mean(), (column == 0).mean()) for column in label.T]
    mix = dict(zip("abc", shares(label), strict=True))
    assert chance(Size(100, class_shares=mix), "multi-label").values["accuracy"] == pytest.approx(
        np.mean(each)
    )


def test_a_split_of_a_single_class_has_no_chance_auc():
    assert "auc" not in chance(Size(9, class_shares={"a": 1.0, "b": 0.0}), "binary").values
    assert chance(Size(9), "binary") is None
