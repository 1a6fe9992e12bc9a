"""Prediction: every item once and in order, the model as it was before."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from medldr.datasets.base import ImageTable
from medldr.evaluation.predictions.predict import predict_each, probabilities
from medldr.types import Batch, DataSpec


def table_of(n, k=3, task="multi-class"):
    rng = np.random.default_rng(0)
    label = rng.integers(0, k, n) if task != "multi-label" else rng.random((n, k)).round()
    return ImageTable(
        name="t",
        task=task,
        class_names=tuple(f"c{c}" for c in range(k)),
        images=rng.integers(0, 255, (n, 1, 8, 8), dtype=np.uint8),
        labels=label.astype(np.int64 if task != "multi-label" else np.float32),
        ids=np.array([f"id {i}" for i in range(n)]),
        splits=np.full(n, ""),
        domains=np.array([f"d{i % 2}" for i in range(n)]),
        groups=np.array([f"g{i // 2}" for i in range(n)]),
    )


def batches(table, rows, size=4):
    for start in range(0, len(rows), size):
        part = np.array(rows[start : start + size])
        image = torch.tensor(table.images[part]).float() / 255
        index, none = torch.tensor(part), torch.full((len(part),), -1)
        yield Batch(image, torch.tensor(table.labels[part]), none, none, index)


def predict(model, *data, **how):
    return predict_each([model], *data, **how)[0]


def spec_of(table):
    names = table.class_names
    return DataSpec(table.task, names, (1,) * len(names), 1, (8, 8))


@pytest.fixture
def model():
    torch.manual_seed(0)
    layers = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 3)
    return nn.Sequential(*layers)


def test_rows_come_in_the_order_of_the_table_with_its_texts(model):
    table = table_of(11)
    rows = [9, 2, 4, 7, 0, 5]
    found = predict(model, batches(table, rows), spec=spec_of(table), table=table, split="val")
    kept = sorted(rows)
    assert found.id.tolist() == [f"id {i}" for i in kept]
    assert found.domain.tolist() == [f"d{i % 2}" for i in kept]
    assert found.group.tolist() == [f"g{i // 2}" for i in kept]
    assert set(found.split) == {"val"}
    np.testing.assert_array_equal(found.label, table.labels[kept])
    with torch.no_grad():
        logits = copy.deepcopy(model).eval()(torch.tensor(table.images[kept]).float() / 255)
    expected = np.exp(logits.double().numpy())
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.prob, expected, rtol=1e-6)
    np.testing.assert_allclose(found.prob.sum(axis=1), 1, atol=1e-15)


def test_the_model_keeps_its_modes_and_running_statistics(model):
    model.train()
    model[1].eval()  # a frozen part must not be woken up
    before = copy.deepcopy(model.state_dict())
    table = table_of(9)
    for size in (1, 4, 9):
        predict(
            model, batches(table, range(9), size), spec=spec_of(table), table=table, split="val"
        )
    assert [m.training for m in model] == [True, False, True, True, True]
    assert model.training
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_modes_come_back_when_the_model_fails(model):
    table = table_of(4)
    wrong = (batch._replace(image=batch.image[:, :, :2]) for batch in batches(table, range(4)))
    model.train()
    with pytest.raises(RuntimeError):
        predict(model, wrong, spec=spec_of(table), table=table, split="val")
    assert all(m.training for m in model.modules())


def test_a_sample_alone_is_predicted_as_among_others(model):
    table = table_of(8)
    rule = {"spec": spec_of(table), "table": table, "split": "test"}
    together = predict(model, batches(table, range(8), 8), **rule).prob
    alone = predict(model, batches(table, range(8), 1), **rule).prob
    np.testing.assert_allclose(alone, together, atol=1e-6)


def test_an_item_that_a_sampler_repeats_counts_once(model):
    table = table_of(5)
    found = predict(
        model, batches(table, [0, 1, 2, 3, 4, 0]), spec=spec_of(table), table=table, split="test"
    )
    assert found.id.tolist() == [f"id {i}" for i in range(5)]


def test_an_empty_split_gives_an_empty_table(model):
    table = table_of(5)
    found = predict(model, [], spec=spec_of(table), table=table, split="test")
    assert found.prob.shape == (0, 3)


def test_multi_label_tables_have_sigmoids_and_missing_labels(model):
    table = table_of(6, task="multi-label")
    table.labels[2, 1] = np.nan
    found = predict(model, batches(table, range(6)), spec=spec_of(table), table=table, split="test")
    assert found.label.dtype == np.float64
    assert np.isnan(found.label[2, 1])
    assert not np.allclose(found.prob.sum(axis=1), 1)


def test_probabilities_are_float64_of_float32_logits():
    logits = np.array([[0.0, 90.0], [-800.0, 0.0]], dtype=np.float32)
    found = probabilities(logits, "binary")
    assert found.dtype == np.float64
    assert found[0, 0] == pytest.approx(np.exp(-90.0), rel=1e-12)
    assert found[1].tolist() == [0.0, 1.0]
    each = probabilities(np.array([[0.0, 90.0, -90.0]], dtype=np.float32), "multi-label")
    assert each[0].tolist() == pytest.approx([0.5, 1.0, np.exp(-90.0)], rel=1e-12)


def test_several_models_see_the_images_once_and_predict_as_each_does_alone(model):
    table = table_of(7)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other[-1].bias += torch.tensor([2.0, 0.0, 0.0])
    words = {"spec": spec_of(table), "table": table, "split": "test"}
    once = batches(table, range(7))  # a generator: a second pass would find nothing
    both = predict_each([model, other], once, **words)
    for found, one in zip(both, (model, other), strict=True):
        alone = predict(one, batches(table, range(7)), **words)
        np.testing.assert_array_equal(found.prob, alone.prob)
    assert not np.array_equal(both[0].prob, both[1].prob)
    assert model.training
    assert other.training
