"""Pictures of any size and colour: squashed as torchvision does it, and faults named beforehand."""

import warnings

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import Resize

from medldr.data.reading.pictures import PictureFiles, unusable
from medldr.errors import InputError

SIZE = (16, 24)


@pytest.fixture
def noise():
    """Function that draws pixels of a shape."""
    generator = np.random.default_rng(0)
    return lambda *shape: generator.integers(0, 256, shape, dtype=np.uint8)


def pictures_of(folder, *names):
    return PictureFiles(folder, list(names), SIZE, resize=True)


def faults(pictures):
    return unusable(pictures.paths, pictures.examined())


@pytest.mark.parametrize(("height", "width"), [(40, 20), (9, 7), (16, 50), (16, 24)])
def test_a_picture_is_squashed_as_torchvision_does(tmp_path, noise, height, width):
    picture = Image.fromarray(noise(height, width, 3))
    picture.save(tmp_path / "a.png")
    expected = np.asarray(Resize(SIZE)(picture)).transpose(2, 0, 1)
    found = pictures_of(tmp_path, "a.png")
    assert found.shape == (1, 3, *SIZE)
    assert np.array_equal(found[0], expected)
    assert found[0].flags.c_contiguous


# ---------------------------------------------------------------- colours


def test_grey_is_repeated_and_alpha_dropped(tmp_path, noise):
    grey, rgba = noise(*SIZE), noise(*SIZE, 4)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(rgba).save(tmp_path / "rgba.png")
    found = pictures_of(tmp_path, "grey.png", "rgba.png")
    assert np.array_equal(found[0], np.stack([grey] * 3))
    assert np.array_equal(found[1], rgba[..., :3].transpose(2, 0, 1))


def test_a_palette_gives_its_colours_also_where_some_are_transparent(tmp_path, noise):
    colours, index = noise(4, 3), noise(*SIZE) % 4
    picture = Image.new("P", SIZE[::-1])
    picture.putpalette(colours.reshape(-1).tolist())
    picture.putdata(index.reshape(-1).tolist())
    picture.save(tmp_path / "a.png", transparency=bytes([0, 255, 128, 255]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pictures_of(tmp_path, "a.png")[0]
    assert np.array_equal(found, colours[index].transpose(2, 0, 1))


def test_of_16_bits_the_upper_eight_are_kept(tmp_path):
    values = np.linspace(0, 65535, SIZE[0] * SIZE[1]).astype(np.uint16).reshape(SIZE)
    Image.fromarray(values).save(tmp_path / "a.png")
    Image.fromarray(values).save(tmp_path / "a.tif")
    expected = np.stack([values // 256] * 3)
    for found in pictures_of(tmp_path, "a.png", "a.tif")[:]:
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_real_numbers_and_32_bits_are_no_picture(tmp_path, kind):
    Image.fromarray(np.ones(SIZE, dtype=kind)).save(tmp_path / "a.tif")
    with pytest.raises(InputError, match="Save it with 8 or 16 bits"):
        pictures_of(tmp_path, "a.tif")[0]
    ((path, reason),) = faults(pictures_of(tmp_path, "a.tif"))
    assert path == "a.tif"
    assert "8 or 16 bits" in reason


@pytest.mark.parametrize("kind", ["BMP", "PPM", "WEBP", "TIFF", "PNG", "CMYK"])
def test_each_kind_that_imagefolder_takes_is_read_whatever_it_is_called(tmp_path, noise, kind):
    picture = Image.fromarray(noise(*SIZE, 3))
    if kind == "CMYK":
        picture, kind = picture.convert("CMYK"), "TIFF"
    more = {"lossless": True} if kind == "WEBP" else {}
    picture.save(tmp_path / "a.jpg", format=kind, **more)
    pictures = pictures_of(tmp_path, "a.jpg")
    assert faults(pictures) == ()
    expected = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
    assert np.array_equal(pictures[0], expected)


# ---------------------------------------------------------------- broken files


def test_bytes_after_the_end_do_no_harm(tmp_path, noise):
    names = ("a.jpg", "a.png")
    for name in names:
        Image.fromarray(noise(40, 50, 3)).save(tmp_path / name)
    before = pictures_of(tmp_path, *names)[:]
    for name in names:
        with (tmp_path / name).open("ab") as file:
            file.write(bytes(64))
    pictures = pictures_of(tmp_path, *names)
    assert faults(pictures) == ()
    assert np.array_equal(pictures[:], before)


def test_a_grey_bottom_is_never_given_out_for_a_cut_jpeg(tmp_path, noise):
    Image.fromarray(noise(80, 90, 3)).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=r"a\.jpg cannot be used: unreadable"):
        pictures_of(tmp_path, "a.jpg")[0]
