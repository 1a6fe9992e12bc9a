"""Pictures of every kind as a viewer shows them, at their own depth; damaged ones named."""

import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps, PngImagePlugin

from medldr.data.files.intensity import as_channels
from medldr.data.files.picture import read_picture
from medldr.data.files.picture_file import MOST_PIXELS
from medldr.data.files.scan import ScanError


@pytest.fixture
def noise():
    """Function that draws whole numbers of a shape below a bound."""
    generator = np.random.default_rng(0)
    return lambda *shape, below=256, dtype=np.uint8: generator.integers(
        0, below, shape, dtype=dtype
    )


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(rows, depth, colour, *more, width=None, compressed=None):
    """A PNG by hand: rows of bytes, bits per sample, type of colour, further chunks."""
    height = len(rows)
    header = struct.pack(">IIBBBBB", width or len(rows[0]), height, depth, colour, 0, 0, 0)
    data = compressed or zlib.compress(b"".join(b"\0" + row for row in rows))
    parts = (chunk(b"IHDR", header), *more, chunk(b"IDAT", data), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


# ---------------------------------------------------------------- colours and depths


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        *((mode, kind) for mode in ("1", "8-bit grey", "RGB") for kind in ("png", "bmp", "tif")),
        *(("8-bit grey", "ppm"), ("RGB", "ppm"), ("RGB", "webp")),
    ],
)
def test_8_bits_are_one_channel_or_three(tmp_path, noise, kind, mode):
    pixels = noise(5, 7, 3) if mode == "RGB" else noise(5, 7)
    stored = pixels > 99 if mode == "1" else pixels
    more = {"lossless": True} if kind == "webp" else {}
    Image.fromarray(stored).save(tmp_path / f"a.{kind}", **more)
    scan = read_picture(tmp_path / f"a.{kind}")
    assert (scan.kind, scan.bits, scan.frames) == ("picture", 8, 1)
    assert scan.mode == ("RGB" if mode == "RGB" else "8-bit grey")
    assert (scan.spacing, scan.affine, scan.warnings) == (None, None, ())
    expected = stored * np.uint8(255) if mode == "1" else pixels
    np.testing.assert_array_equal(scan.values, np.moveaxis(np.atleast_3d(expected), -1, 0))
    assert scan.values.dtype == np.uint8


@pytest.mark.parametrize("kind", ["png", "tif", "pgm"])
def test_16_bits_of_grey_are_kept(tmp_path, kind):
    values = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    if kind == "pgm":
        (tmp_path / "a.pgm").write_bytes(b"P5 16 16 65535\n" + values.astype(">u2").tobytes())
    else:
        Image.fromarray(values).save(tmp_path / f"a.{kind}")
    scan = read_picture(tmp_path / f"a.{kind}")
    assert (scan.mode, scan.bits, scan.values.dtype) == ("16-bit grey", 16, np.uint16)
    assert np.array_equal(scan.values, values[None])


def tiff(path, values, *, tags=(), order="<"):
    """A TIFF by hand, one strip, with further (tag, value) pairs."""
    data = values.astype(values.dtype.newbyteorder(order)).tobytes()
    height, width = values.shape
    kind = {"u": 1, "i": 2, "f": 3}[values.dtype.kind]
    known = {
        256: width, 257: height, 258: 8 * values.dtype.itemsize, 259: 1, 262: 1,
        273: 8, 277: 1, 278: height, 279: len(data), 339: kind, **dict(tags),
    }  # fmt: skip
    entries = b"".join(
        struct.pack(f"{order}HHI", tag, 4, 1) + struct.pack(f"{order}I", value)
        for tag, value in sorted(known.items())
    )
    head = b"II*\0" if order == "<" else b"MM\0*"
    start = struct.pack(f"{order}I", 8 + len(data))
    count = struct.pack(f"{order}H", len(known))
    path.write_bytes(head + start + data + count + entries + struct.pack(f"{order}I", 0))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("dtype", ["uint16", "int16", "int32", "float32"])
def test_numbers_of_a_tiff_keep_their_values_in_either_byte_order(tmp_path, order, dtype):
    values = np.array([[0, 1, 300], [4095, 32767, 7]]).astype(dtype)
    if dtype.startswith(("int", "float")):
        values[0, 0] = -5
    tiff(tmp_path / "a.tif", values, order=order)
    scan = read_picture(tmp_path / "a.tif")
    assert np.array_equal(scan.values, values[None])
    assert scan.values.dtype.isnative
    assert scan.bits == (16 if dtype == "uint16" else None)


def test_a_16_bit_tiff_whose_zero_is_white_is_turned_round_as_8_bits_are(tmp_path):
    for dtype in ("uint8", "uint16"):
        top = np.iinfo(dtype).max
        tiff(tmp_path / f"{dtype}.tif", np.array([[0, top // 3, top]], dtype), tags=[(262, 0)])
        found = read_picture(tmp_path / f"{dtype}.tif").values
        assert found.tolist() == [[[top, top - top // 3, 0]]]


def test_nan_and_infinity_become_the_lowest_number_and_are_counted(tmp_path):
    values = np.array([[np.nan, 2, np.inf], [-3, 5, 1]], dtype=np.float32)
    Image.fromarray(values).save(tmp_path / "a.tif")
    scan = read_picture(tmp_path / "a.tif")
    assert scan.values.tolist() == [[[-3, 2, -3], [-3, 5, 1]]]
    assert "2 of 6 numbers are not finite" in scan.warnings[0]
    Image.fromarray(np.full((2, 2), np.nan, np.float32)).save(tmp_path / "b.tif")
    with pytest.raises(ScanError, match="none of its numbers is finite"):
        read_picture(tmp_path / "b.tif")


def test_a_palette_gives_its_colours_even_if_all_are_grey(tmp_path, noise):
    colours, index = noise(4, 3), noise(6, 8, below=4)
    picture = Image.fromarray(index).convert("P")
    picture.putpalette(colours.reshape(-1).tolist())
    picture.save(tmp_path / "a.png")
    assert np.array_equal(
        read_picture(tmp_path / "a.png").values, colours[index].transpose(2, 0, 1)
    )


@pytest.mark.parametrize("mode", ["CMYK", "YCbCr", "LAB"])
def test_other_colours_become_rgb_by_pillow(tmp_path, noise, mode):
    rgb = Image.fromarray(noise(6, 8, 3))
    if mode == "LAB":
        picture = Image.frombytes("LAB", (8, 6), noise(6, 8, 3).tobytes())
    else:
        picture = rgb.convert(mode)
    picture.save(tmp_path / "a.tif")
    with Image.open(tmp_path / "a.tif") as opened:
        assert opened.mode == mode
        expected = np.asarray(opened.convert("RGB"))
    assert np.array_equal(read_picture(tmp_path / "a.tif").values, expected.transpose(2, 0, 1))


def test_of_16_bit_colour_the_upper_eight_are_kept_and_that_is_said(tmp_path, noise):
    values = noise(3, 4, 3, below=65536, dtype=np.uint16)
    rows = [row.astype(">u2").tobytes() for row in values]
    (tmp_path / "a.png").write_bytes(png(rows, 16, 2, width=4))
    scan = read_picture(tmp_path / "a.png")
    assert np.array_equal(scan.values, (values >> 8).transpose(2, 0, 1))
    assert "the upper eight are kept" in scan.warnings[0]


# ---------------------------------------------------------------- transparency


def over(values, alpha, ground):
    """Blended by hand: values ``(..., C)`` on 255 or 0."""
    part = alpha[..., None] / 255
    return np.floor(values * part + ground * (1 - part) + 0.5)


@pytest.mark.parametrize(("ground", "level"), [("white", 255), ("black", 0)])
@pytest.mark.parametrize("channels", [1, 3])
def test_transparent_pixels_are_seen_on_the_ground(tmp_path, noise, ground, level, channels):
    pixels = noise(16, 16, channels + 1)
    Image.fromarray(pixels, "LA" if channels == 1 else "RGBA").save(tmp_path / "a.png")
    scan = read_picture(tmp_path / "a.png", ground=ground)
    expected = over(pixels[..., :-1].astype(float), pixels[..., -1], level)
    assert scan.values.shape == (channels, 16, 16)
    assert np.array_equal(scan.values, expected.transpose(2, 0, 1))
    count = int((pixels[..., -1] < 255).sum())
    assert scan.warnings == (
        f"{count} of 256 pixels are transparent, which are seen on {ground} (data.ground)",
    )


def test_a_palette_with_transparent_colours_is_seen_on_the_ground(tmp_path, noise):
    colours, index = noise(4, 3), noise(6, 8, below=4)
    picture = Image.fromarray(index).convert("P")
    picture.putpalette(colours.reshape(-1).tolist())
    alpha = np.uint8([0, 255, 128, 255])
    picture.save(tmp_path / "a.png", transparency=alpha.tobytes())
    expected = over(colours[index].astype(float), alpha[index], 0)
    found = read_picture(tmp_path / "a.png", ground="black").values
    assert np.array_equal(found, expected.transpose(2, 0, 1))


@pytest.mark.parametrize(
    ("depth", "colour", "clear", "row", "expected"),
    [
        (8, 0, b"\0\x07", bytes([7, 9, 7]), [[[255, 9, 255]]]),
        (4, 0, b"\0\x07", bytes([0x79, 0x70]), [[[255, 153, 255]]]),
        (2, 0, b"\0\x01", bytes([0b01_10_11_00]), [[[255, 170, 255]]]),
        (1, 0, b"\0\x01", bytes([0b01000000]), [[[0, 255, 0]]]),
        (16, 0, b"\x10\x01", b"\x10\x01\x10\x00\x00\x05", [[[65535, 4096, 5]]]),
        (8, 2, b"\0\x01\0\x02\0\x03", bytes([1, 2, 3] * 2 + [1, 2, 4]), None),
    ],
)
def test_the_one_transparent_value_of_a_png_is_found_at_every_depth(
    tmp_path, depth, colour, clear, row, expected
):
    content = png([row], depth, colour, chunk(b"tRNS", clear), width=3)
    (tmp_path / "a.png").write_bytes(content)
    expected = expected or [[[255, 255, 1]], [[255, 255, 2]], [[255, 255, 4]]]
    assert read_picture(tmp_path / "a.png").values.tolist() == expected


# ---------------------------------------------------------------- turned, and of several frames


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["jpg", "png", "tif"])
def test_a_photograph_is_turned_as_pillow_turns_it(tmp_path, noise, kind, orientation):
    picture = Image.fromarray(noise(6, 10, 3))
    exif = Image.Exif()
    exif[274] = orientation
    picture.save(tmp_path / f"a.{kind}", exif=exif)
    with Image.open(tmp_path / f"a.{kind}") as opened:
        expected = np.asarray(ImageOps.exif_transpose(opened)).transpose(2, 0, 1)
        stored = np.asarray(opened).transpose(2, 0, 1)
    scan = read_picture(tmp_path / f"a.{kind}")
    assert np.array_equal(scan.values, expected)
    assert scan.values.flags.c_contiguous
    assert np.array_equal(read_picture(tmp_path / f"a.{kind}", exif=False).values, stored)
    if kind != "tif":  # where that is how the format lays its rows, and no news
        said = ("turned upright, as its camera noted",) if orientation > 1 else ()
        assert scan.warnings == said


def test_damaged_notes_of_a_camera_are_no_reason_to_refuse_a_picture(tmp_path, noise):
    picture = Image.fromarray(noise(6, 10, 3))
    picture.save(tmp_path / "a.png", exif=b"Exif\0\0MM\0*\xff\xff\xff")
    values = read_picture(tmp_path / "a.png").values
    assert np.array_equal(values, np.asarray(picture).transpose(2, 0, 1))


@pytest.mark.parametrize("kind", ["tif", "gif", "png", "webp"])
def test_frames_are_a_last_axis_and_their_first_can_be_read_alone(tmp_path, kind):
    frames = [np.full((4, 6, 3), level, np.uint8) for level in (10, 90, 200)]
    for number, frame in enumerate(frames):
        frame[number, 5] = 255 - frame[0, 0]
    first, *rest = map(Image.fromarray, frames)
    more = {"lossless": True} if kind == "webp" else {}
    first.save(tmp_path / f"a.{kind}", save_all=True, append_images=rest, **more)
    scan = read_picture(tmp_path / f"a.{kind}")
    assert (scan.frames, scan.values.shape, scan.is_volume) == (3, (3, 6, 4, 3), True)
    for number, frame in enumerate(frames):
        assert np.array_equal(scan.values[..., number], frame.transpose(2, 1, 0))
    alone = read_picture(tmp_path / f"a.{kind}", first=True)
    assert np.array_equal(alone.values, frames[0].transpose(2, 0, 1))
    assert alone.frames == 3


def test_a_smaller_copy_in_a_tiff_is_no_page_and_pages_of_two_sizes_are_refused(tmp_path, noise):
    large, small = Image.fromarray(noise(8, 8)), Image.fromarray(noise(4, 4))
    small.encoderinfo = {"tiffinfo": {254: 1}}
    large.save(tmp_path / "a.tif", save_all=True, append_images=[small])
    scan = read_picture(tmp_path / "a.tif")
    assert (scan.frames, scan.values.shape) == (1, (1, 8, 8))
    del small.encoderinfo
    large.save(tmp_path / "b.tif", save_all=True, append_images=[small])
    with pytest.raises(ScanError, match=r"2 pages are not alike \(8 x 8 pixels .* and 4 x 4"):
        read_picture(tmp_path / "b.tif")


# ---------------------------------------------------------------- large ones


def blank_png(edge):
    """One bit per pixel, so that the file is small."""
    packer = zlib.compressobj(9)
    row = b"\0" + b"\xaa" * (edge // 8)
    data = b"".join(packer.compress(row) for _ in range(edge)) + packer.flush()
    return png([b""] * edge, 1, 0, width=edge, compressed=data)


@pytest.mark.slow
def test_a_picture_of_100_million_pixels_is_read_without_a_warning_of_pillow(tmp_path):
    limit = Image.MAX_IMAGE_PIXELS
    (tmp_path / "a.png").write_bytes(blank_png(10_000))
    scan = read_picture(tmp_path / "a.png")  # warnings are errors in tests
    assert scan.values.shape == (1, 10_000, 10_000)
    assert scan.values[0, :2, :4].tolist() == [[255, 0, 255, 0]] * 2
    assert limit == Image.MAX_IMAGE_PIXELS


def test_more_pixels_than_the_most_are_told_with_their_number(tmp_path):
    header = struct.pack(">IIBBBBB", 14_000, 14_000, 1, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + parts)
    with pytest.raises(ScanError) as told:
        read_picture(tmp_path / "a.png")
    assert str(told.value) == (
        "it has 196,000,000 pixels; at most 178,956,970 are read. Make it smaller, or cut a whole "
        "slide into patches"
    )
    assert 2 * Image.MAX_IMAGE_PIXELS == MOST_PIXELS


def test_threads_do_not_disturb_each_other(tmp_path, noise):
    drawn = [noise(40, 40, 4) for _ in range(24)]
    for number, pixels in enumerate(drawn):
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    with ThreadPoolExecutor(4) as pool:
        scans = list(pool.map(lambda n: read_picture(tmp_path / f"{n}.png"), range(24)))
    for scan, pixels in zip(scans, drawn, strict=True):
        expected = over(pixels[..., :3].astype(float), pixels[..., 3], 255)
        np.testing.assert_array_equal(scan.values, expected.transpose(2, 0, 1))


# ---------------------------------------------------------------- damaged ones, and odd notes


def test_texts_that_pillow_refuses_are_left_out_and_the_picture_is_read(tmp_path, noise):
    pixels = noise(6, 8, 3)
    notes = PngImagePlugin.PngInfo()
    notes.add_text("prompt", "x" * (2 << 20), zip=True)
    profile = b"y" * (2 << 20)
    Image.fromarray(pixels).save(tmp_path / "a.png", pnginfo=notes, icc_profile=profile)
    with pytest.raises(ValueError, match="MAX_TEXT_CHUNK"):
        Image.open(tmp_path / "a.png").load()
    assert np.array_equal(read_picture(tmp_path / "a.png").values, pixels.transpose(2, 0, 1))


@pytest.mark.parametrize("kind", ["png", "jpg", "tif", "bmp", "webp", "gif"])
@pytest.mark.parametrize("how", ["absent", "empty", "few", "half", "text"])
def test_a_damaged_picture_is_refused_with_the_reason(tmp_path, noise, kind, how):
    path = tmp_path / f"a.{kind}"
    Image.fromarray(noise(60, 70, 3)).save(path)
    content = path.read_bytes()
    left = {"empty": 0, "few": 9, "half": len(content) // 2}
    if how == "absent":
        path.unlink()
    else:
        path.write_bytes(content[: left[how]] if how in left else b"<html>404</html>")
    why = r"^(there is no such file|the file is empty|the file is truncated|unreadable \()"
    with pytest.raises(ScanError, match=why):
        read_picture(path)


@pytest.mark.parametrize("kind", [b"IHDR", b"IDAT", b"tEXt"])
def test_any_wrong_checksum_of_a_png_is_told(tmp_path, noise, kind):
    notes = PngImagePlugin.PngInfo()
    notes.add_text("who", "me")
    Image.fromarray(noise(6, 8, 3)).save(tmp_path / "a.png", pnginfo=notes)
    content = bytearray((tmp_path / "a.png").read_bytes())
    at = content.index(kind)
    length = struct.unpack(">I", content[at - 4 : at])[0]
    content[at + 4 + length] ^= 1
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(ScanError, match=f"the checksum of its part {kind.decode()} is wrong"):
        read_picture(tmp_path / "a.png")


def test_a_jpeg_filled_up_with_zeros_is_truncated(tmp_path, noise):
    Image.fromarray(noise(60, 70, 3)).save(tmp_path / "a.jpg")
    content = (tmp_path / "a.jpg").read_bytes()
    half = len(content) // 2
    (tmp_path / "a.jpg").write_bytes(content[:half] + bytes(len(content) - half))
    with pytest.raises(ScanError, match="the file is truncated"):
        read_picture(tmp_path / "a.jpg")


# ---------------------------------------------------------------- channels


def test_colour_becomes_grey_as_pillow_makes_it():
    values = np.array(np.meshgrid(*[np.arange(0, 256, 5)] * 3), dtype=np.uint8).reshape(3, -1, 52)
    expected = np.asarray(Image.fromarray(values.transpose(1, 2, 0).copy()).convert("L"))
    assert np.array_equal(as_channels(values, 1), expected[None])


def test_white_of_any_type_stays_white():
    for dtype in (np.uint8, np.uint16):
        top = np.iinfo(dtype).max
        assert as_channels(np.full((3, 2, 2), top, dtype), 1).tolist() == [[[top] * 2] * 2]
    assert as_channels(np.ones((3, 2, 2, 2), np.float32), 1) == pytest.approx(1)


def test_grey_is_repeated_and_four_channels_are_refused(noise):
    grey = noise(1, 4, 5)
    assert np.array_equal(as_channels(grey, 3), np.concatenate([grey] * 3))
    assert as_channels(grey, 1) is grey
    with pytest.raises(ScanError, match="it has 4 channels"):
        as_channels(noise(4, 4, 5), 3)


# ---------------------------------------------------------------- planes of a TIFF


def planes(path, values, axes, **more):
    tifffile.imwrite(path, values, photometric="minisblack", metadata={"axes": axes}, **more)
    return path


@pytest.mark.parametrize("kind", [{"ome": True}, {"imagej": True}, {}])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_planes_of_named_axes_are_channels_and_slices(tmp_path, noise, kind, dtype):
    values = noise(4, 3, 5, 7).astype(dtype)  # slices, channels, rows, columns
    picture = read_picture(planes(tmp_path / "a.tif", values[0], "CYX", **kind))
    np.testing.assert_array_equal(picture.values, values[0])
    assert (picture.frames, picture.bits) == (1, 8 * values.itemsize)
    assert picture.mode == ("RGB" if dtype == np.uint8 else "16-bit grey, 3 channels")
    stack = read_picture(planes(tmp_path / "b.tif", values, "ZCYX", **kind))
    np.testing.assert_array_equal(stack.values, values.transpose(1, 3, 2, 0))
    assert stack.frames == 4
    first = read_picture(tmp_path / "b.tif", first=True)
    np.testing.assert_array_equal(first.values, values[0])
    film = read_picture(planes(tmp_path / "c.tif", values[:, 0], "TYX", **kind))
    np.testing.assert_array_equal(film.values, values[None, :, 0].transpose(0, 3, 2, 1))


def test_two_channels_are_two_and_channels_may_come_before_slices(tmp_path, noise):
    values = noise(2, 3, 5, 7)
    picture = read_picture(planes(tmp_path / "a.ome.tif", values[:, 0], "CYX"))
    np.testing.assert_array_equal(picture.values, values[:, 0])
    assert picture.mode == "8-bit grey, 2 channels"
    stack = read_picture(planes(tmp_path / "b.ome.tif", values, "CZYX"))
    np.testing.assert_array_equal(stack.values, values.transpose(0, 3, 2, 1))


@pytest.mark.parametrize("axes", ["QYX", "TZYX", "TCZYX"])
def test_axes_that_nobody_can_tell_apart_are_refused(tmp_path, noise, axes):
    values = noise(*(2, 3, 4)[: len(axes) - 2], 5, 7)
    with pytest.raises(ScanError, match=f"its axes are {axes} .*read are C .channels.*own"):
        read_picture(planes(tmp_path / "a.ome.tif", values, axes))


def test_planes_in_another_file_are_not_read(tmp_path, noise):
    path = planes(tmp_path / "a.ome.tif", noise(2, 5, 7), "CYX")
    planes(tmp_path / "b.ome.tif", noise(2, 5, 7), "CYX")
    text = tifffile.tiffcomment(path)
    uuid = '<UUID FileName="b.ome.tif">urn:uuid:00000000-0000-0000-0000-000000000000</UUID>'
    moved = re.sub(r"(<TiffData[^>]*?)/>|(<TiffData[^>]*>).*?</TiffData>", "", text)
    data = f'<TiffData IFD="0" FirstC="1" PlaneCount="1">{uuid}</TiffData>'
    own = '<TiffData IFD="0" FirstC="0" PlaneCount="1"/>'
    tifffile.tiffcomment(path, moved.replace("</Pixels>", f"{own}{data}</Pixels>"))
    with pytest.raises(ScanError, match="not all pages of this file"):
        read_picture(path)


def test_deep_colours_by_plane_are_those_by_pixel(tmp_path):
    colours = np.random.default_rng(0).integers(0, 65536, (3, 6, 8)).astype(np.uint16)
    keys = {"photometric": "rgb", "metadata": None}
    tifffile.imwrite(tmp_path / "planes.tif", colours, planarconfig="separate", **keys)
    tifffile.imwrite(tmp_path / "pixels.tif", colours.transpose(1, 2, 0), **keys)
    one, other = (read_picture(tmp_path / f"{name}.tif") for name in ("planes", "pixels"))
    np.testing.assert_array_equal(one.values, other.values)
    assert (one.values == colours >> 8).all()
    assert one.warnings == other.warnings


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8"])
def test_numbers_that_pillow_does_not_decode_keep_their_values(tmp_path, dtype):
    values = np.array([[-5, 1, 30], [4, 7, 7]]).astype(dtype)
    keys = {"photometric": "minisblack", "metadata": None}
    tifffile.imwrite(tmp_path / "a.tif", np.stack([values, values + 1]), **keys)
    scan = read_picture(tmp_path / "a.tif")
    assert (scan.frames, scan.bits) == (2, None)
    np.testing.assert_array_equal(scan.values[0, :, :, 1].T, values + 1)
    np.testing.assert_array_equal(read_picture(tmp_path / "a.tif", first=True).values[0], values)
    content = (tmp_path / "a.tif").read_bytes()
    (tmp_path / "a.tif").write_bytes(content[: len(content) // 2])
    with pytest.raises(ScanError):
        read_picture(tmp_path / "a.tif")


def test_a_value_that_is_not_a_number_is_replaced_in_double_precision_too(tmp_path):
    values = np.array([[np.nan, 2.0], [0.5, 1.0]])
    for dtype in ("float32", "float64"):
        tifffile.imwrite(tmp_path / f"{dtype}.tif", values.astype(dtype), metadata=None)
        scan = read_picture(tmp_path / f"{dtype}.tif")
        assert scan.values[0].tolist() == [[0.5, 2.0], [0.5, 1.0]]
        assert "1 of 4 numbers are not finite" in scan.warnings[0]


def test_tiles_and_a_pyramid_below_the_picture_are_the_picture(tmp_path, noise):
    colours = noise(64, 64, 3)
    keys = {"photometric": "rgb", "metadata": None}
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(colours, tile=(16, 16), subifds=1, **keys)
        file.write(colours[::2, ::2], subfiletype=1, **keys)
    scan = read_picture(tmp_path / "a.tif")
    np.testing.assert_array_equal(scan.values, colours.transpose(2, 0, 1))
    assert (scan.frames, scan.warnings) == (1, ())
