"""CDANN beside its update, which `tests/fidelity` derives: how much each row counts."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from medldr.algorithms.cdann import balanced_weights, memberships
from medldr.models.base import FeatureModel

LABELS = torch.tensor([2, 0, 2, 2, 1, 0, 2, 2, 2, 1, 0, 2])  # of 4 classes; the last is absent


class Flat(FeatureModel):
    """A linear encoder, exact in the precision of its weights."""

    def __init__(self, spec):
        super().__init__(stage_dims=(6,) * 5, dim=6, num_classes=spec.num_classes)
        self.encoder = nn.Linear(64, 6)

    def features(self, image, taps=None):
        return torch.tanh(self.encoder(image.flatten(1)))


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, **keys):
        spec = spec or standins.make_spec(task)
        torch.manual_seed(0)
        model = Flat(spec).double()
        algorithm = standins.make_algorithm("cdann", spec, model, **keys).train().double()
        batch = standins.make_batch(standins.make_spec(task))
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


def test_weights_equal_a_loop_over_the_rows():
    members = memberships(LABELS, 4).double()
    labels = LABELS.tolist()
    for class_count, number in (("fixed", 4), ("batch", 3)):
        expected = [1 / (labels.count(k) * number) for k in labels]
        found = balanced_weights(members, members.sum(0), class_count)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.sum().item() == pytest.approx(3 / number, abs=1e-12)


def test_multi_label_rows_count_by_all_their_labels():
    label = torch.tensor([[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, float("nan"), 0], [0, 1, 0]])
    members = memberships(label, 3).double()
    # Of label 0 there is 1 image, of label 1 there are 3, none of label 2, and 2 have no label.
    expected = [1 / 4 + 1 / 12, 1 / 12, 1 / 8, 1 / 8, 1 / 12]
    found = balanced_weights(members, members.sum(0))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert found.sum().item() == pytest.approx(3 / 4, abs=1e-12)


def test_without_class_vectors_and_with_equal_classes_it_is_dann(build, standins):
    model, algorithm, batch = build()  # 3 rows of each of 4 classes
    nn.init.zeros_(algorithm.class_vectors.weight)
    dann = standins.make_algorithm("dann", standins.make_spec(), model).double()
    dann.discriminator.load_state_dict(algorithm.discriminator.state_dict())
    for method in ("loss", "discriminator_loss"):
        found, expected = (getattr(a, method)(model, batch).loss for a in (algorithm, dann))
        assert abs(found - expected).item() <= 1e-10


def test_one_label_per_image_is_the_same_in_either_form(build):
    model, algorithm, batch = build(spec=None)
    _, several, _ = build("multi-label")
    several.discriminator.load_state_dict(algorithm.discriminator.state_dict())
    with torch.no_grad():
        several.class_vectors.weight[:4] = algorithm.class_vectors.weight
    hot = functional.one_hot(LABELS, 4).double()
    z = model.features(batch.image)
    torch.testing.assert_close(several.seen(z, hot), algorithm.seen(z, LABELS))
    # One group more, that of images without a label: 5 in place of 4.
    expected = algorithm.row_weights(LABELS) * 4 / 5
    torch.testing.assert_close(several.row_weights(hot), expected)


def test_vectors_of_all_labels_are_added(build):
    model, algorithm, batch = build("multi-label")
    z = model.features(batch.image)
    vectors = algorithm.class_vectors.weight
    expected = z.clone()
    for i, label in enumerate(batch.label.tolist()):
        known = [k for k, value in enumerate(label) if value == 1]
        for k in known or [4]:
            expected[i] = expected[i] + vectors[k]
    assert (algorithm.seen(z, batch.label) - expected).abs().max().item() <= 1e-10
