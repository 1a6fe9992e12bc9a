"""The controls against scikit-learn and NumPy by hand."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from medldr.data.files.facts import Facts
from medldr.data.files.scan import Scan
from medldr.data.image_table import ImageTable
from medldr.evaluation.inputs.simple_controls import shortcuts, simple_controls


def _table(images, labels, **columns):
    count = len(labels)
    empty = np.full(count, "", dtype="<U1")
    values = {"splits": empty, "domains": empty, "groups": empty, **columns}
    return ImageTable(
        name="t",
        task="binary",
        class_names=("no", "yes"),
        images=images,
        labels=np.asarray(labels, np.int64),
        ids=np.array([f"i{n}" for n in range(count)]),
        **values,
    )


@pytest.fixture
def plans():
    return {"": {"train": np.arange(0, 60), "test": np.arange(60, 100)}}


@pytest.fixture
def labels():
    return np.random.default_rng(0).integers(0, 2, 100)


def _squares(edges, size=24):
    images = np.zeros((len(edges), 1, size, size), np.float32)
    for image, edge in zip(images, edges, strict=True):
        image[0, 2 : 2 + edge, 3 : 3 + edge] = 1
    return images


def test_size_tells_a_matter_of_size_and_brightness_another(plans, labels):
    random = np.random.default_rng(1)
    noise = random.uniform(0, 0.4, (100, 1, 24, 24)).astype(np.float32)
    sized = _table(noise + 0.6 * _squares(4 + 8 * labels), labels)
    by_name = {one.name: one for one in simple_controls(sized, plans)}
    assert by_name["size"].numbers["auc"].value == 1
    assert set(by_name) == {"brightness", "size"}
    bright = _table((noise + 0.1 * labels[:, None, None, None]).astype(np.float32), labels)
    by_name = {one.name: one for one in simple_controls(bright, plans)}
    assert by_name["brightness"].numbers["auc"].value == 1


def test_numbers_are_those_of_scikit_learn(plans, labels):
    random = np.random.default_rng(2)
    images = random.integers(0, 256, (100, 3, 6, 7), dtype=np.uint8)
    images[:, 0] = np.clip(images[:, 0] * 0.8 + 12 * labels[:, None, None], 0, 255)
    (found, *_) = simple_controls(_table(images, labels), plans)
    from sklearn.linear_model import LogisticRegression

    scaled = images / 255
    numbers = np.column_stack([scaled.mean((2, 3)), scaled.std((2, 3))])
    numbers = (numbers - numbers[:60].mean(0)) / numbers[:60].std(0)
    fitted = LogisticRegression(class_weight="balanced").fit(numbers[:60], labels[:60])
    prob = fitted.predict_proba(numbers[60:])[:, 1]
    assert found.name == "brightness"
    assert found.numbers["auc"].value == pytest.approx(roc_auc_score(labels[60:], prob), abs=1e-6)
    expected = balanced_accuracy_score(labels[60:], prob > 0.5)
    assert found.numbers["balanced_accuracy"].value == pytest.approx(expected)
    assert found.numbers["auc"].low < found.numbers["auc"].value < found.numbers["auc"].high


def test_the_way_of_recording_is_a_control_where_it_differs(plans, labels):
    images = np.random.default_rng(3).random((100, 1, 9, 9), np.float32)
    facts = tuple(
        Facts.of(Scan(images[0], "dicom", "12-bit grey", spacing=(0.5 + n, 0.5)))
        for n in labels.tolist()
    )
    by_name = {one.name: one for one in simple_controls(_table(images, labels, facts=facts), plans)}
    assert by_name["recording"].numbers["auc"].value == 1
    alike = tuple(facts[0] for _ in labels)
    names = {one.name for one in simple_controls(_table(images, labels, facts=alike), plans)}
    assert names == {"brightness", "size"}


def test_nothing_is_fitted_to_too_few_or_to_several_labels(plans, labels):
    images = np.random.default_rng(3).random((100, 1, 9, 9), np.float32)
    rare = np.where(np.arange(100) < 4, 1, 0)
    assert simple_controls(_table(images, rare), plans) == []
    assert simple_controls(_table(images, labels), {"": {"train": np.arange(60)}}) == []
    assert shortcuts([]) == []
