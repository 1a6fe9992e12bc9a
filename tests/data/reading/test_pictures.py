"""Picture files: decoded as Pillow does, in any kind of indexing; faults named beforehand."""

import multiprocessing
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.transforms import Resize

from medldr.data.files.scan import ABSENT
from medldr.data.reading.pictures import PictureFiles, unusable
from medldr.errors import InputError

SIZE = (12, 20)  # height and width differ, so a swap is seen


@pytest.fixture
def drawn(tmp_path):
    """Nine RGBA pictures in two folders: (folder, paths, expected pixels)."""
    generator = np.random.default_rng(0)
    paths, pixels = [], []
    for number in range(9):
        rgba = generator.integers(0, 256, (*SIZE, 4), dtype=np.uint8)
        path = f"{'ab'[number % 2]}/ü {number}.png"
        (tmp_path / path).parent.mkdir(exist_ok=True)
        Image.fromarray(rgba).save(tmp_path / path)
        paths.append(path)
        pixels.append(rgba[..., :3].transpose(2, 0, 1))
    return tmp_path, paths, np.stack(pixels)


@pytest.fixture
def pictures(drawn):
    folder, paths, _ = drawn
    return PictureFiles(folder, paths, SIZE)


@pytest.mark.parametrize(
    "rows",
    [0, -1, np.int64(3), slice(2, 7), slice(None), slice(8, None, -3), np.array([5, 1, 1, 8])],
    ids=str,
)
def test_indexing_is_that_of_an_array_and_alpha_is_dropped(pictures, drawn, rows):
    expected = drawn[2]
    found = pictures[rows]
    assert found.dtype == np.uint8
    assert found.flags.c_contiguous
    assert np.array_equal(found, expected[rows])


def test_a_row_beyond_the_end_is_an_index_error(pictures):
    with pytest.raises(IndexError):
        pictures[9]
    assert pictures[np.array([], dtype=np.int64)].shape == (0, 3, *SIZE)


def _sum(pictures, rows, queue):
    queue.put(int(pictures[rows].sum()))


def test_a_forked_process_reads_the_same(pictures, drawn):
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_sum, args=(pictures, slice(0, 4), queue))
    process.start()
    assert queue.get(timeout=30) == int(drawn[2][:4].sum())
    process.join()


# ---------------------------------------------------------------- stamp and digest


def test_the_stamp_follows_names_sizes_and_times(drawn):
    folder, paths, _ = drawn
    first = PictureFiles(folder, paths, SIZE).stamp
    assert PictureFiles(folder, paths, SIZE).stamp == first
    assert PictureFiles(folder, paths[::-1], SIZE).stamp != first
    stat = (folder / paths[0]).stat()
    os.utime(folder / paths[0], ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert PictureFiles(folder, paths, SIZE).stamp != first


def test_the_digest_follows_names_and_sizes_only(drawn):
    folder, paths, _ = drawn
    first = PictureFiles(folder, paths, SIZE).digest()
    os.utime(folder / paths[0], (0, 0))
    assert PictureFiles(folder, paths[::-1], SIZE).digest() == first
    with (folder / paths[0]).open("ab") as file:
        file.write(b"x")
    assert PictureFiles(folder, paths, SIZE).digest() != first
    assert PictureFiles(folder, paths[1:], SIZE).digest() != first


def test_some_rows_are_pictures_of_their_own(pictures, drawn):
    part = pictures.take(np.array([7, 2]))
    assert part.shape == (2, 3, *SIZE)
    assert np.array_equal(part[:], drawn[2][[7, 2]])
    assert len({part.stamp, pictures.stamp, pictures.take(np.array([2, 7])).stamp}) == 3


# ---------------------------------------------------------------- faults


def spoil(path, how):
    content = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how == "half":
        path.write_bytes(content[: len(content) // 2])
    elif how == "another size":
        Image.new("RGB", SIZE).save(path)  # Pillow's order: this one is 20 high and 12 wide
    elif how == "a dead link":
        path.symlink_to("nowhere.png")


def faults(pictures, **keys):
    """Files that cannot be used, with the reason."""
    return unusable(pictures.paths, pictures.examined(**keys))


FAULTS = {
    "absent": ABSENT,
    "a folder": ABSENT,
    "a dead link": ABSENT,
    "half": "the file is truncated",
    "another size": "it is 20 x 12 pixels, not 12 x 20",
}


@pytest.mark.parametrize("how", FAULTS)
def test_faults_are_found_before_anything_is_used_and_named_when_asked_for(drawn, how):
    folder, paths, _ = drawn
    spoil(folder / paths[4], how)
    pictures = PictureFiles(folder, paths, SIZE)
    ((path, reason),) = faults(pictures)
    assert path == paths[4]
    assert FAULTS[how] in reason
    for rows in (4, slice(2, 6)):
        with pytest.raises(InputError, match=r"ü 4\.png cannot be used"):
            pictures[rows]


def test_many_bad_ones_come_in_row_order(drawn, monkeypatch):
    folder, paths, _ = drawn
    monkeypatch.setattr("medldr.data.files.memory._STEP", 2)  # several pieces of work
    assert faults(PictureFiles(folder, paths, SIZE)) == ()
    for path in paths[::2]:
        spoil(folder / path, "half")
    assert [fault.path for fault in faults(PictureFiles(folder, paths, SIZE))] == paths[::2]


def test_the_pixels_of_each_whole_picture_are_shown_once_whatever_is_remembered(drawn):
    folder, paths, expected = drawn
    spoil(folder / paths[4], "half")
    pictures = PictureFiles(folder, paths, SIZE)
    before = pictures.examined()
    seen = []
    assert pictures.examined(seen=lambda row, pixels: seen.append((row, pixels))) == before
    assert sorted(row for row, _ in seen) == [0, 1, 2, 3, 5, 6, 7, 8]
    assert all(np.array_equal(pixels, expected[row]) for row, pixels in seen)


def test_a_picture_is_looked_at_as_it_is_given_out_and_grey_as_colour(tmp_path):
    grey = np.arange(240, dtype=np.uint8).reshape(SIZE)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(np.stack([grey] * 3, -1)).save(tmp_path / "colour.bmp")
    Image.fromarray(grey // 200).save(tmp_path / "other.png")
    Image.new("RGB", SIZE[::-1], (9, 8, 7)).save(tmp_path / "plain.png")
    names = ["grey.png", "colour.bmp", "other.png", "plain.png"]
    one, same, other, plain = PictureFiles(tmp_path, names, SIZE).examined()
    assert one.digest == same.digest != other.digest
    assert [found.constant for found in (one, same, other, plain)] == [False, False, False, True]


def test_a_page_description_is_no_picture_whatever_it_is_called(drawn, monkeypatch):
    folder, paths, _ = drawn
    Image.new("RGB", SIZE[::-1]).save(folder / paths[4], format="EPS")
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", None)  # calling it is a TypeError
    pictures = PictureFiles(folder, paths, SIZE)
    assert [fault.path for fault in faults(pictures)] == [paths[4]]
    with pytest.raises(InputError, match=r"ü 4\.png cannot be used: unreadable"):
        pictures[4]


def test_a_file_that_goes_while_its_folder_is_listed_is_absent_and_no_other_is(drawn, monkeypatch):
    folder, paths, _ = drawn
    scandir = os.scandir

    class Listed(list):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    def listing(place):
        found = Listed(scandir(place))
        if Path(place) == (folder / paths[4]).parent:
            (folder / paths[4]).unlink()
        return found

    monkeypatch.setattr("medldr.data.reading.pictures.os.scandir", listing)
    sizes = PictureFiles(folder, paths, SIZE).sizes
    assert np.flatnonzero(sizes < 0).tolist() == [4]


# ---------------------------------------------------------------- of any size and colour


@pytest.fixture
def noise():
    """Function that draws pixels of a shape."""
    generator = np.random.default_rng(0)
    return lambda *shape: generator.integers(0, 256, shape, dtype=np.uint8)


def pictures_of(folder, *names):
    return PictureFiles(folder, list(names), SIZE, resize=True)


@pytest.mark.parametrize(("height", "width"), [(40, 20), (9, 7), (16, 50), SIZE])
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
