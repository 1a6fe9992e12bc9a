"""The preset for scans: against SciPy and NumPy in double precision, and what must never change."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.ndimage import map_coordinates
from scipy.spatial.transform import Rotation

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pixel_rule, scan

STILL = {"rotate_degrees": 0, "zoom": (1, 1), "shift": 0}
"""No image is moved."""

AS_STORED = {"brightness": 0, "contrast": 0, "gamma": (1, 1), "noise": (0, 0)}
"""No value changes."""

RAW = {"mean": 0, "std": 1}
"""Pixels stay in [0, 1]."""

SHAPES = [(1, 9, 9), (3, 17, 26), (1, 8, 8, 8), (2, 5, 12, 7)]
"""Odd and even, longer along one axis, several channels."""


def stored(shape, n=6, seed=0):
    images = np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)
    return torch.from_numpy(images)


def smooth(shape, n=5):
    """Images without noise, of which a resampling in another place differs clearly."""
    places = np.indices(shape[1:]).astype(np.float64)
    waves = [
        np.sin(sum((k + c + 1.3 * a) * place / 7 for a, place in enumerate(places)))
        for k in range(n)
        for c in range(shape[0])
    ]
    return torch.from_numpy((0.5 + 0.5 * np.stack(waves)).reshape(n, *shape).astype(np.float32))


def rule_for(images, **keys):
    return build_pixel_rule(
        scan.Config(**keys), ImageShape(images.shape[1], tuple(images.shape[2:]))
    )


def numbers(rule, n, seed=1):
    return torch.from_numpy(np.random.default_rng(seed).random((n, rule.draws), dtype=np.float32))


def trained(images, uniform=None, **keys):
    rule = rule_for(images, **keys)
    return rule(
        images, train=True, uniform=numbers(rule, len(images)) if uniform is None else uniform
    )


def from_scipy(image, angles, zoom, shift):
    """One image, each channel of which is turned, then enlarged, then shifted about its middle."""
    lengths = image.shape[1:]
    if len(lengths) == 2:
        (angle,) = angles
        cosine, sine = math.cos(angle), math.sin(angle)
        turn = np.array([[cosine, -sine], [sine, cosine]])
    else:
        turn = Rotation.from_euler("xyz", angles).as_matrix()
    middle = (np.array(lengths) - 1) / 2
    new = np.indices(lengths).reshape(len(lengths), -1).T
    # Backwards: where was a pixel before the shift, the zoom and the turn?
    old = (new - middle - shift) / zoom @ turn + middle
    return np.stack(
        [
            map_coordinates(channel, old.T, order=1, mode="nearest").reshape(lengths)
            for channel in image.astype(np.float64)
        ]
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("strength", [(10, (0.9, 1.1), 0.05), (180, (0.4, 2.5), 0.6)], ids=str)
def test_turn_zoom_and_shift_are_one_linear_resampling_as_scipy_has_it(shape, strength):
    degrees, zoom, shift = strength
    images = smooth(shape)
    rule = rule_for(images, rotate_degrees=degrees, zoom=zoom, shift=shift, probability=1,
                    **AS_STORED, **RAW)  # fmt: skip
    uniform = numbers(rule, len(images))
    axes = len(shape) - 1
    turns = 1 if axes == 2 else 3
    ours = rule(images, train=True, uniform=uniform)
    for image, row, got in zip(images.numpy(), uniform.double().numpy(), ours, strict=True):
        angles = np.radians(degrees) * (2 * row[1 : 1 + turns] - 1)
        factor = zoom[0] * (zoom[1] / zoom[0]) ** row[1 + turns]
        far = shift * (2 * row[2 + turns : 2 + turns + axes] - 1) * np.array(shape[1:])
        np.testing.assert_allclose(got, from_scipy(image, angles, factor, far), atol=2e-5)
    assert (ours - images).abs().max() > 0.05


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("floating", [False, True])
def test_settings_that_change_nothing_give_the_pixels_exactly(shape, floating):
    images = stored(shape)
    wanted = images.float() / 255
    given_images = wanted if floating else images
    ours = trained(given_images, probability=1, **STILL, **AS_STORED, **RAW)
    assert torch.equal(ours, wanted)
    assert torch.equal(trained(given_images, probability=0, **RAW), wanted)


@pytest.mark.parametrize(
    ("shape", "words"),
    [((1, 6, 7), ("up_down", "left_right")),
     ((3, 4, 5, 6), ("left_right", "front_back", "up_down"))],
)  # fmt: skip
def test_every_word_mirrors_its_axis_as_numpy_does_in_half_of_the_images(shape, words):
    images = stored(shape, 200)
    for axis, word in enumerate(words):
        ours = trained(images, flip=(word,), probability=0, **RAW)
        seen = []
        for image, got in zip(images.numpy() / np.float32(255), ours.numpy(), strict=True):
            seen.append(np.array_equal(got, np.flip(image, axis + 1)))
            assert seen[-1] or np.array_equal(got, image)
        assert 70 < sum(seen) < 130
    together = trained(images, flip=words, probability=0, **RAW)
    views = {tuple(axes) for axes in map(tuple, _mirrors(images, together, len(words)))}
    assert len(views) == 2 ** len(words)  # mirrored along each axis independently


def _mirrors(images, ours, axes):
    for image, got in zip(images.numpy() / np.float32(255), ours.numpy(), strict=True):
        found = [
            chosen
            for chosen in np.ndindex(*[2] * axes)
            if np.array_equal(got, np.flip(image, [a + 1 for a in range(axes) if chosen[a]]))
        ]
        assert len(found) == 1
        yield found[0]


@pytest.mark.parametrize("shape", [(3, 6, 6), (1, 5, 5, 7)], ids=str)
def test_quarter_turns_are_numpys_and_equally_frequent(shape):
    images = stored(shape, 400)
    ours = trained(images, rotate_quarter_turns=True, probability=0, **RAW)
    counts = [0, 0, 0, 0]
    for image, got in zip(images.numpy() / np.float32(255), ours.numpy(), strict=True):
        same = [np.array_equal(got, np.rot90(image, k, (1, 2))) for k in range(4)]
        assert sum(same) == 1
        counts[same.index(True)] += 1
    assert min(counts) > 70


def test_by_default_no_image_is_mirrored_or_quarter_turned():
    config = scan.Config()
    assert config.flip == ()
    assert not config.rotate_quarter_turns
    corner = torch.zeros(50, 1, 20, 20)
    corner[..., 2:6, 2:6] = 1
    ours = trained(corner, **RAW)
    assert (ours[..., :10, :10].sum((1, 2, 3)) > 0.8 * ours.sum((1, 2, 3))).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_change_as_the_formulas_say(shape):
    images = stored(shape)
    keys = {"brightness": 0.3, "contrast": 0.4, "gamma": (0.5, 3), "noise": (0.02, 0.08)}
    rule = rule_for(images, probability=1, **STILL, **keys, **RAW)
    uniform = numbers(rule, len(images))
    ours = rule(images, train=True, uniform=uniform)
    for image, row, got in zip(images.numpy() / 255, uniform.double().numpy(), ours, strict=True):
        gamma, contrast, brightness, noise = row[-6:-2]
        value = image ** (0.5 * 6**gamma)
        value = value.mean() + (value - value.mean()) * (1 + 0.4 * (2 * contrast - 1))
        value = value * (1 + 0.3 * (2 * brightness - 1))
        seed = int(row[-2] * 2**24) * 2**24 + int(row[-1] * 2**24)
        normal = torch.randn(image.shape, generator=torch.Generator().manual_seed(seed)).numpy()
        wanted = np.clip(value + (0.02 + 0.06 * noise) * normal, 0, 1)
        np.testing.assert_allclose(got, wanted, atol=2e-6)


def test_shares_are_those_asked_for_and_drawn_apart():
    images = stored((1, 4, 4), 2000)
    plain = images.float() / 255
    moved = (trained(images, probability=0.3, **AS_STORED, **RAW) != plain).flatten(1).any(1)
    changed = (trained(images, probability=0.3, **STILL, **RAW) != plain).flatten(1).any(1)
    assert moved.double().mean() == pytest.approx(0.3, abs=0.04)
    assert changed.double().mean() == pytest.approx(0.3, abs=0.04)
    assert (moved & changed).double().mean() == pytest.approx(0.09, abs=0.03)


EVERYTHING = {
    "flip": ("left_right", "up_down"), "rotate_quarter_turns": True, "rotate_degrees": 30,
    "noise": (0.0, 0.1),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(1, 9, 9), (3, 16, 16), (1, 7, 7, 5)], ids=str)
def test_8_bit_and_float_images_that_are_equal_give_equal_input(shape):
    images = stored(shape)
    ours = trained(images, size=11, **EVERYTHING)
    assert torch.equal(trained(images.float() / 255, size=11, **EVERYTHING), ours)


@pytest.mark.parametrize("shape", [(1, 9, 9), (3, 33, 33), (1, 7, 7, 5)], ids=str)
def test_a_sample_depends_on_its_own_numbers_alone_bit_for_bit(shape):
    images = stored(shape, 7)
    rule = rule_for(images, size=13, **EVERYTHING)
    uniform = numbers(rule, 7)
    together = rule(images, train=True, uniform=uniform)
    order = torch.tensor([3, 0, 6, 2, 5, 1, 4])
    assert torch.equal(rule(images[order], train=True, uniform=uniform[order]), together[order])
    for row in range(7):
        part = slice(row, row + 1)
        assert torch.equal(rule(images[part], train=True, uniform=uniform[part])[0], together[row])


def test_a_setting_leaves_what_the_others_do_as_it_was():
    images = stored((1, 8, 8), 40)
    rule = rule_for(images, **AS_STORED, **RAW)
    uniform = numbers(rule, 40)
    flipped = rule_for(images, flip=("left_right",), **AS_STORED, **RAW)
    same = flipped(images, train=True, uniform=uniform) == rule(images, train=True, uniform=uniform)
    assert 10 < same.flatten(1).all(1).sum() < 30


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_evaluation_is_scaling_and_normalising_whatever_is_drawn(shape):
    images = stored(shape)
    rule = rule_for(images, flip=("left_right",))
    plain = rule(images, train=False)
    assert torch.equal(rule(images, train=False, uniform=numbers(rule, 6)), plain)
    np.testing.assert_allclose(plain, images.double() / 127.5 - 1, atol=1e-6)


def test_mean_and_std_are_one_number_or_one_per_channel():
    images = stored((1, 5, 5))
    mean, std = (0.1, 0.2, 0.3), (0.5, 1.0, 2.0)
    ours = rule_for(images, channels=3, mean=mean, std=std)(images, train=False)
    for channel in range(3):
        wanted = (images[:, 0].double() / 255 - mean[channel]) / std[channel]
        np.testing.assert_allclose(ours[:, channel], wanted, atol=1e-6)


def test_repeated_channels_are_equal_noise_included():
    images = stored((1, 6, 6, 6))
    ours = trained(images, channels=3, probability=1)
    assert ours.shape == (6, 3, 6, 6, 6)
    assert torch.equal(ours[:, 0], ours[:, 1])
    assert torch.equal(ours[:, 0], ours[:, 2])


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.lists(st.integers(1, 9), min_size=2, max_size=3),
    channels=st.sampled_from([1, 3]),
    degrees=st.floats(0, 180),
    low=st.floats(0.05, 1),
    amount=st.floats(0, 0.99),
)
@settings(max_examples=20, deadline=None)
def test_values_stay_between_0_and_1_whatever_is_drawn(seed, shape, channels, degrees, low, amount):
    images = stored((channels, *shape), 3, seed)
    ours = trained(
        images, numbers(rule_for(images), 3, seed),
        rotate_degrees=degrees, zoom=(low, 1 / low), shift=amount, brightness=amount,
        contrast=amount, gamma=(low, 1 / low), noise=(0, amount), flip=("left_right", "up_down"),
        **RAW,
    )  # fmt: skip
    assert torch.isfinite(ours).all()
    assert ours.min() >= 0
    assert ours.max() <= 1


@pytest.mark.parametrize(
    ("keys", "shape", "message"),
    [
        (
            {"flip": ("front_back",)},
            (1, 8, 8),
            r"transform\.flip: front_back is an axis of volumes",
        ),
        ({"rotate_quarter_turns": True}, (1, 8, 9), r"rotate_quarter_turns: .*1 x 8 x 9.*size"),
        ({"rotate_quarter_turns": True}, (1, 8, 9, 8), r"rotate_quarter_turns: .*1 x 8 x 9 x 8"),
        ({"mean": (0.1, 0.2, 0.3)}, (1, 8, 8), r"transform\.mean: has 3 numbers.*1 channels"),
        ({"mean": ()}, (1, 8, 8), r"transform\.mean: has 0 numbers.*1 channels"),
        ({"std": (1.0, 1.0)}, (3, 8, 8), r"transform\.std: has 2 numbers.*3 channels"),
        ({"channels": 3}, (2, 8, 8), r"transform\.channels: 3 repeats one grey channel.*have 2"),
    ],
)
def test_what_does_not_fit_the_images_is_refused(keys, shape, message):
    with pytest.raises(InputError, match=message):
        build_pixel_rule(scan.Config(**keys), ImageShape(shape[0], shape[1:]))


def test_resizing_makes_quarter_turns_possible():
    rule = build_pixel_rule(scan.Config(rotate_quarter_turns=True, size=8), ImageShape(1, (8, 9)))
    assert rule.output == (1, (8, 8))


@pytest.mark.parametrize(
    "keys",
    [{"zoom": (0, 1)}, {"gamma": (2, 1)}, {"noise": (-0.1, 0)}, {"std": 0}, {"std": (1, 0, 1)}],
)
def test_impossible_values_are_refused(keys):
    with pytest.raises(ValidationError):
        scan.Config(**keys)


def test_the_order_of_directions_is_no_choice():
    assert scan.Config(flip=("up_down", "left_right")).flip == ("left_right", "up_down")
