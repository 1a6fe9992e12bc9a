import numpy as np
import pytest
import torch

from medldr.algorithms._mixing import Pairs
from medldr.algorithms.mixup import MixupConfig
from medldr.config import load_part

PARTNER = torch.tensor([3, 0, 5, 1, 4, 7, 2, 6])


@pytest.fixture
def build(standins):
    def make(**keys):
        spec = standins.make_spec()
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("mixup", spec, model, **keys)
        return model, algorithm, standins.make_batch(spec, 8)

    return make


@pytest.fixture
def seen(monkeypatch):
    """Images that a model gets to see, and a way to begin watching it."""
    images = []

    def watch(model):
        features = model.features

        def noted(image, taps=None):
            images.append(image)
            return features(image, taps)

        monkeypatch.setattr(model, "features", noted)
        return images

    return watch


def test_the_network_sees_the_blend_and_the_labels_go_with_it(build, seen):
    model, algorithm, batch = build()
    algorithm.draw = lambda rows: Pairs(torch.tensor(0.25, dtype=torch.float64), PARTNER)
    images = seen(model)
    out = algorithm.loss(model, batch)
    (image,) = images
    plain = batch.image.double().numpy()
    expected = 0.25 * plain + 0.75 * plain[PARTNER]
    np.testing.assert_allclose(image.numpy(), expected, rtol=1e-5, atol=1e-6)
    # Each blended image by itself: the permutation of the labels is the images' own.
    each = torch.nn.functional.cross_entropy
    for row in range(8):
        one = out.logits[row : row + 1]
        own, other = batch.label[row : row + 1], batch.label[PARTNER[row] : PARTNER[row] + 1]
        term = 0.25 * each(one, own) + 0.75 * each(one, other)
        soft = 0.25 * torch.eye(4)[own] + 0.75 * torch.eye(4)[other]
        torch.testing.assert_close(term, each(one, soft))
    assert model.passes == 1


def test_a_step_draws_one_share_and_one_permutation_of_the_whole_batch(build, seen):
    model, algorithm, batch = build(alpha=1.0)
    images = seen(model)
    number = torch.arange(8.0)
    # An image's value is its row's power of two: a blend of two shows which, and how much of each.
    batch = batch._replace(image=(2**number)[:, None, None, None].expand_as(batch.image))
    torch.manual_seed(3)
    for _ in range(20):
        out = algorithm.loss(model, batch)
        share = out.logs["lambda"].item()
        values = images[-1][:, 0, 0, 0].double().numpy()
        partners = np.log2((values - share * 2.0 ** np.arange(8)) / (1 - share))
        assert sorted(np.round(partners).astype(int)) == list(range(8))
        np.testing.assert_allclose(partners, np.round(partners), atol=1e-3)


def test_labels_are_not_changed(build):
    model, algorithm, batch = build()
    image, label = batch.image.clone(), batch.label.clone()
    algorithm.loss(model, batch)
    assert torch.equal(batch.image, image)
    assert torch.equal(batch.label, label)
    assert batch.label.dtype == torch.int64


def test_the_part_states_the_defaults_of_the_papers_row():
    part = load_part("algorithm", "mixup")["algorithm"]
    assert part == {"name": "mixup", "lr_scale": 1.0, "alpha": 0.2}
    assert MixupConfig(**part) == MixupConfig()
