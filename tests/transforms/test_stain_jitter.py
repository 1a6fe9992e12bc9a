"""The stain jitter, against its three published steps in NumPy float64 and worked values."""

import numpy as np
import pytest
import torch

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pixel_rule, stain_jitter
from medldr.transforms.stain_jitter import STAIN_MATRIX, StainJitter

MATRIX = np.array([[0.65, 0.70, 0.29], [0.07, 0.99, 0.11], [0.27, 0.57, 0.78]])
EPSILON = 1e-6


def three_steps(pixels, alpha, beta):
    """One picture (H, W, 3) in [0, 1]: separate the stains, change them, put them together."""
    stains = -np.log(255 * pixels + EPSILON) @ np.linalg.inv(MATRIX)
    changed = stains * alpha + beta
    return np.clip((np.exp(-(changed @ MATRIX)) - EPSILON) / 255, 0, 1)


def reference(images, alpha, beta):
    """A batch (B, 3, H, W), one picture at a time."""
    pictures = [
        three_steps(image.transpose(1, 2, 0), a, b)
        for image, a, b in zip(images, alpha, beta, strict=True)
    ]
    return np.stack(pictures).transpose(0, 3, 1, 2)


def numbers(*three):
    return torch.tensor([three], dtype=torch.float64)


@pytest.fixture
def stored():
    """Uint8 pictures with every grey level, pure black and pure white among them."""
    images = torch.from_numpy(
        np.random.default_rng(0).integers(0, 256, (6, 3, 20, 13), dtype=np.uint8)
    )
    images[0, :, 0, 0], images[1, :, 0, 0] = 0, 255
    return images


@pytest.fixture
def drawn():
    random = np.random.default_rng(1)
    return torch.from_numpy(random.uniform(0.9, 1.1, (6, 3))), torch.from_numpy(
        random.uniform(-0.1, 0.1, (6, 3))
    )


def test_the_stain_matrix_is_the_published_one():
    np.testing.assert_array_equal(STAIN_MATRIX, MATRIX)
    assert np.linalg.det(STAIN_MATRIX) == pytest.approx(0.377799, abs=1e-12)
    inverse = [
        [1.877983, -1.007679, -0.556116],
        [-0.065908, 1.134730, -0.135522],
        [-0.601907, -0.480414, 1.573588],
    ]
    np.testing.assert_allclose(np.linalg.inv(STAIN_MATRIX), inverse, atol=5e-7)


def test_it_equals_the_three_published_steps(stored, drawn):
    images = stored.double() / 255
    ours = stain_jitter.stain_jitter(images, *drawn)
    wanted = reference(images.numpy(), *(part.numpy() for part in drawn))
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["uint8", "float32", "channels last"])
def test_single_precision_is_a_thousandth_of_a_grey_level_away(stored, drawn, kind):
    images = {
        "uint8": stored,
        "float32": stored.float() / 255,
        "channels last": stored.contiguous(memory_format=torch.channels_last),
    }[kind]
    ours = stain_jitter.stain_jitter(images, *drawn)
    wanted = reference(stored.numpy() / 255, *(part.numpy() for part in drawn))
    assert ours.dtype == torch.float32
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-3 / 255)


def test_how_many_pictures_are_worked_on_at_once_changes_nothing(stored, drawn, monkeypatch):
    together = stain_jitter.stain_jitter(stored, *drawn)
    monkeypatch.setattr(stain_jitter, "BLOCK", 1)
    assert torch.equal(stain_jitter.stain_jitter(stored, *drawn), together)


def test_an_empty_batch_stays_empty():
    empty = torch.zeros(0, 3, 8, 8, dtype=torch.uint8)
    none = torch.zeros(0, 3)
    assert stain_jitter.stain_jitter(empty, none, none).shape == (0, 3, 8, 8)


def test_autocast_does_not_round_it(stored, drawn):
    plain = stain_jitter.stain_jitter(stored, *drawn)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(stain_jitter.stain_jitter(stored, *drawn), plain)


def test_white_stays_white_with_a_white_reference(drawn):
    white = torch.ones(6, 3, 2, 2, dtype=torch.float64)
    ours = stain_jitter.stain_jitter(white, drawn[0], torch.zeros(6, 3), reference="white")
    np.testing.assert_allclose(ours, 1, rtol=0, atol=1e-12)


def test_a_white_reference_counts_densities_from_white(stored, drawn):
    """Pixels above 0, where the published epsilon does not matter."""
    images = stored.clamp(min=1).double() / 255
    alpha, beta = drawn
    stains = -np.log(images.numpy().transpose(0, 2, 3, 1)) @ np.linalg.inv(MATRIX)
    changed = stains * alpha.numpy()[:, None, None] + beta.numpy()[:, None, None]
    wanted = np.clip(np.exp(-(changed @ MATRIX)), 0, 1).transpose(0, 3, 1, 2)
    ours = stain_jitter.stain_jitter(images, alpha, beta, reference="white")
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("white", [None, "white"])
def test_nothing_drawn_changes_nothing_and_black_stays_black(stored, white):
    images = stored.double() / 255
    ours = stain_jitter.stain_jitter(images, torch.ones(6, 3), torch.zeros(6, 3), reference=white)
    np.testing.assert_allclose(ours, images, rtol=0, atol=1e-12)
    assert ours[0, :, 0, 0].max() < 1e-12


def test_other_pixel_types_are_a_fault():
    half = torch.zeros(1, 3, 1, 1, dtype=torch.float16)
    with pytest.raises(TypeError, match="float16"):
        stain_jitter.stain_jitter(half, numbers(1, 1, 1), numbers(0, 0, 0))


def test_the_seven_numbers_are_alpha_beta_and_whether(stored):
    jitter = StainJitter(sigma=0.1, probability=0.6)
    uniform = torch.rand(6, 7, generator=torch.Generator().manual_seed(0))
    uniform[:, 6] = torch.tensor([0.0, 0.59, 0.6, 0.61, 0.99, 0.3])
    ours = jitter(stored, uniform)
    exact = uniform.double().numpy()
    jittered = reference(stored.numpy() / 255, 0.9 + 0.2 * exact[:, :3], -0.1 + 0.2 * exact[:, 3:6])
    for row, chosen in enumerate([True, True, False, False, False, True]):
        if chosen:
            np.testing.assert_allclose(ours[row], jittered[row], rtol=0, atol=1e-3 / 255)
        else:
            assert torch.equal(ours[row], stored[row].float() / 255)


def test_stains_left_out_keep_their_density(stored):
    uniform = torch.rand(6, 7, generator=torch.Generator().manual_seed(0))
    uniform[:, 6] = 0
    ours = StainJitter(0.1, 1.0, stains=("haematoxylin", "eosin"))(stored, uniform)
    uniform[:, [2, 5]] = 0.5  # in the middle of both ranges: factor 1, nothing added
    assert torch.equal(StainJitter(0.1, 1.0)(stored, uniform), ours)


def test_the_preset_jitters_training_pictures_alone_and_then_normalises(stored):
    config = stain_jitter.Config(probability=1, mean=(0.5, 0.6, 0.7), std=(0.1, 0.2, 0.4))
    rule = build_pixel_rule(config, ImageShape(3, (20, 13)))
    uniform = torch.rand(6, rule.draws, generator=torch.Generator().manual_seed(0))
    mean, std = np.array([0.5, 0.6, 0.7])[:, None, None], np.array([0.1, 0.2, 0.4])[:, None, None]
    jittered = StainJitter(0.1, 1)(stored, uniform)
    trained = rule(stored, train=True, uniform=uniform)
    np.testing.assert_allclose(trained, (jittered.numpy() - mean) / std, atol=1e-5)
    evaluated = rule(stored, train=False)
    np.testing.assert_allclose(evaluated, (stored.numpy() / 255 - mean) / std, atol=1e-5)


def test_the_published_numbers_are_the_defaults():
    config = stain_jitter.Config()
    assert (config.sigma, config.probability, config.reference) == (0.1, 0.56827, "none")
    assert config.stains == ("haematoxylin", "eosin", "dab")


def test_the_order_of_stains_is_no_choice():
    assert stain_jitter.Config(stains=("eosin", "haematoxylin")).stains == ("haematoxylin", "eosin")


def test_volumes_are_refused_with_a_cure():
    with pytest.raises(InputError, match=r"colour pictures.*1 x 8 x 8 x 8.*another preset"):
        build_pixel_rule(stain_jitter.Config(), ImageShape(1, (8, 8, 8)))
