"""One's own pictures as images of 8 bits: depth, ground, and what is remembered of each."""

import numpy as np
import pytest
from PIL import Image

from medldr.data.files.rgb import OwnRules, decode_own, examine_own
from medldr.data.files.scan import ScanError

SIZE = (8, 8)


def rules(depth=None, **keys):
    return OwnRules(**{"ground": "white", "exif": True, "depth": depth, **keys})


@pytest.fixture
def ramp(tmp_path):
    """Function that writes 64 whole numbers from 0 to `top` and returns path and values."""

    def write(top, kind="png"):
        values = np.linspace(0, top, 64).round().astype(np.uint16).reshape(SIZE)
        Image.fromarray(values).save(tmp_path / f"a.{kind}")
        return tmp_path / f"a.{kind}", values

    return write


@pytest.mark.parametrize(("depth", "top"), [(8, 255), (12, 4095), (16, 65535)])
@pytest.mark.parametrize("kind", ["png", "tif"])
def test_16_bits_are_scaled_and_rounded(ramp, depth, top, kind):
    path, values = ramp(top, kind)
    found = decode_own(path, SIZE, rules(depth))
    exact = [[(2 * v * 255 + top) // (2 * top) for v in row] for row in values.tolist()]
    assert found.tolist() == [exact] * 3
    assert found.dtype == np.uint8


def test_a_value_above_the_depth_is_named(ramp):
    path, _ = ramp(4096)
    with pytest.raises(ScanError, match=r"greatest value 4,096 needs more than 12 bits"):
        decode_own(path, SIZE, rules(12))
    with pytest.raises(ScanError, match="more than 8 bits"):
        decode_own(path, SIZE, rules(None))


def test_a_window_is_of_each_picture_and_also_for_real_numbers(tmp_path):
    values = np.random.default_rng(0).normal(5, 2, SIZE).astype(np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    low, high = np.percentile(values, [0.5, 99.5])
    expected = np.rint(np.clip((values - low) / (high - low), 0, 1) * 255)
    found = decode_own(tmp_path / "a.tif", SIZE, rules("window"))
    assert np.array_equal(found, [expected] * 3)
    with pytest.raises(ScanError, match=r"\(float32\).*data\.bit_depth=window"):
        decode_own(tmp_path / "a.tif", SIZE, rules(16))
    Image.fromarray(np.full(SIZE, 7, np.float32)).save(tmp_path / "b.tif")
    assert not decode_own(tmp_path / "b.tif", SIZE, rules("window")).any()


def test_8_bits_stay_as_they_are_whatever_the_depth(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (*SIZE, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    for depth in (None, 8, 16, "window"):
        found = decode_own(tmp_path / "a.png", SIZE, rules(depth))
        assert np.array_equal(found, pixels.transpose(2, 0, 1))


def test_a_picture_is_squashed_as_pillow_does_it_after_blending(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (30, 20, 4), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    part = pixels[..., 3:] / 255
    blended = np.floor(pixels[..., :3] * part + 0.5).astype(np.uint8)  # on black
    expected = Image.fromarray(blended).resize(SIZE[::-1], Image.Resampling.BILINEAR)
    found = decode_own(tmp_path / "a.png", SIZE, rules(ground="black"))
    assert np.array_equal(found.transpose(1, 2, 0), np.asarray(expected))


def test_only_what_does_not_go_without_saying_is_remembered(tmp_path, ramp):
    path, _ = ramp(4000)
    assert examine_own(path, rules())[1].facts == {"size": [8, 8], "high": 4000}
    exif = Image.Exif()
    exif[274] = 6
    clear = Image.new("RGBA", (9, 5), (1, 2, 3, 0))
    clear.save(tmp_path / "a.png", exif=exif)
    found = examine_own(tmp_path / "a.png", rules())[1]
    assert found.facts == {"size": [9, 5], "transparent": True, "turned": True}
    assert found.constant
    frames = [Image.new("L", (4, 4), level) for level in (1, 2)]
    frames[0].save(tmp_path / "a.tif", save_all=True, append_images=frames[1:])
    assert examine_own(tmp_path / "a.tif", rules())[1].facts == {"size": [4, 4], "frames": 2}
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "b.tif")
    assert examine_own(tmp_path / "b.tif", rules())[1].facts == {"size": [4, 4], "real": "float32"}
