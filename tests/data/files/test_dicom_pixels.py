"""Pixels of DICOM files: grey, colours, palettes, every bit and every compression."""

import io

import dicom_files as files
import numpy as np
import pytest
from PIL import Image
from pydicom.encaps import encapsulate, generate_frames
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    JPEG2000Lossless,
    JPEGBaseline8Bit,
    JPEGLSLossless,
    RLELossless,
)

from medldr.data.files import dicom_pixels
from medldr.data.files.dicom import read_dicom_file
from medldr.data.files.scan import ScanError

RAMP = np.arange(16, dtype=np.uint16).reshape(4, 4)
SPACED = {"PixelSpacing": ["0.5", "0.25"]}


@pytest.mark.parametrize("kind", ["<u2", "<i2"])
@pytest.mark.parametrize("rescale", [{}, {"RescaleSlope": "2", "RescaleIntercept": "-100"}])
def test_monochrome1_equals_its_twin(read, kind, rescale):
    shown = (np.arange(16).reshape(4, 4) * 100).astype(kind)
    ends = 4095 if kind == "<u2" else -1
    window = {"WindowCenter": "500.5", "WindowWidth": "201"}
    twin = read(shown, bits=12, **rescale, **window, **SPACED)
    slope, intercept = (2, -100) if rescale else (1, 0)
    # What was the window's middle is as far from the other end.
    window["WindowCenter"] = str(slope * ends + 2 * intercept - 500 + 0.5)
    scan = read(
        (ends - shown.astype(int)).astype(kind), bits=12,
        PhotometricInterpretation="MONOCHROME1", **rescale, **window, **SPACED,
    )  # fmt: skip
    np.testing.assert_array_equal(scan.values, twin.values)
    assert scan.values.dtype == twin.values.dtype
    assert scan.bits == twin.bits == (12 if kind == "<u2" and not rescale else None)
    assert scan.window == twin.window == (400, 600)
    assert scan.mode == f"12-bit {'signed ' if kind == '<i2' else ''}MONOCHROME1"


def test_padding_of_monochrome1_is_dark(read):
    raw = RAMP * 100 + 500
    raw[0], raw[1, 0] = 0, 7  # unexposed borders of a radiograph, shown white if nobody looks
    inverted = {"PhotometricInterpretation": "MONOCHROME1", **SPACED}
    scan = read(raw, bits=12, PixelPaddingValue=0, PixelPaddingRangeLimit=9, **inverted)
    expected = 4095 - raw.astype(int)
    expected[0] = expected[1, 0] = 4095 - 2000
    np.testing.assert_array_equal(scan.values[0], expected)
    assert scan.warnings == ("its padding would be white and was made dark",)
    # Dark padding, and that of MONOCHROME2, stay as they are.
    assert not read(raw, bits=12, PixelPaddingValue=2000, **inverted).warnings
    plain = read(raw, bits=12, PixelPaddingValue=0, **SPACED)
    np.testing.assert_array_equal(plain.values[0], raw)


def test_bits_around_the_numbers_are_masked(read):
    marks = (RAMP.astype(int) % 2 * 0xF000).astype(np.uint16)
    low = read(RAMP * 200 | marks, bits=12)
    np.testing.assert_array_equal(low.values[0], RAMP * 200)
    high = read(RAMP * 200 << 4 | marks >> 12, bits=12, HighBit=15)
    np.testing.assert_array_equal(high.values[0], RAMP * 200)
    signed = ((RAMP.astype(int) * 200 - 1500) & 0x0FFF).astype(np.int16)  # no sign above bit 12
    np.testing.assert_array_equal(read(signed, bits=12).values[0], RAMP.astype(int) * 200 - 1500)


@pytest.mark.parametrize("planar", [0, 1])
def test_colour(read, planar):
    colours = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    dataset = files.dicom(colours, colour=True, PlanarConfiguration=planar)
    if planar:
        dataset.PixelData = np.moveaxis(colours, -1, 0).tobytes() + b"\0"
    scan = read(dataset)
    np.testing.assert_array_equal(scan.values, np.moveaxis(colours, -1, 0))
    assert (scan.mode, scan.bits) == ("RGB", 8)


def test_ybr_becomes_rgb(read):
    colours = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [128, 128, 128]]], np.uint8)
    # Pillow's own matrix of JPEG, the one of YBR_FULL.
    ybr = np.asarray(Image.fromarray(colours).convert("YCbCr"))
    scan = read(ybr, colour=True, PhotometricInterpretation="YBR_FULL")
    np.testing.assert_allclose(scan.values, np.moveaxis(colours, -1, 0), atol=2)
    with pytest.raises(ScanError, match="more than 8 bits"):
        read(ybr.astype(np.uint16), colour=True, PhotometricInterpretation="YBR_FULL")
    with pytest.raises(ScanError, match="YBR_PARTIAL_422, which is not read"):
        read(ybr, colour=True, PhotometricInterpretation="YBR_PARTIAL_422")


@pytest.mark.parametrize(("entries", "depth"), [(16, 8), (16, 16), (300, 8), (300, 16)])
def test_palettes(read, entries, depth):
    table = np.random.default_rng(0).integers(0, 2**depth, (3, entries)).astype(f"<u{depth // 8}")
    index = np.array([[0, 5, 9], [entries + 4, entries + 90, 12]], np.uint16)  # 5 is the first
    tags = {}
    for colour, values in zip(("Red", "Green", "Blue"), table, strict=True):
        tags[f"{colour}PaletteColorLookupTableDescriptor"] = [entries, 5, depth]
        tags[f"{colour}PaletteColorLookupTableData"] = values.tobytes()
    scan = read(index, PhotometricInterpretation="PALETTE COLOR", **tags)
    expected = table[:, np.clip(index.astype(int) - 5, 0, entries - 1)]
    np.testing.assert_array_equal(scan.values, expected)
    assert (scan.mode, scan.bits) == ("PALETTE COLOR", depth)
    with pytest.raises(ScanError, match="palette"):
        read(index, PhotometricInterpretation="PALETTE COLOR")


def test_real_numbers(read):
    values = np.array([[0.5, np.nan], [-3.25, 1e6]], np.float32)
    dataset = files.dicom(values, BitsStored=None, HighBit=None, PixelRepresentation=None)
    del dataset.PixelData
    dataset.FloatPixelData = values.tobytes()
    scan = read(dataset)
    np.testing.assert_array_equal(scan.values[0], [[0.5, -3.25], [-3.25, 1e6]])
    assert (scan.mode, scan.bits) == ("float32 MONOCHROME2", None)
    assert "1 of 4 numbers are not finite" in scan.warnings[0]


def _jpeg2000(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG2000", no_jp2=True, irreversible=False)
    return buffer.getvalue()


def _jpeg(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=100)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("syntax", "code"), [(JPEG2000Lossless, _jpeg2000), (JPEGBaseline8Bit, _jpeg)]
)
def test_compressed_pictures_are_whole_or_refused(read, syntax, code):
    pytest.importorskip("pylibjpeg")
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32), np.uint8)
    stream = code(pixels)
    dataset = files.dicom(pixels, syntax=syntax)

    def put(part):
        dataset.PixelData = encapsulate([part])
        dataset["PixelData"].is_undefined_length = True
        return read(dataset)

    np.testing.assert_allclose(put(stream).values[0], pixels, atol=4 if code is _jpeg else 0)
    for share in (0.3, 0.6, 0.95):
        with pytest.raises(ScanError, match="its compressed picture is truncated"):
            put(stream[: int(share * len(stream))])
    with pytest.raises(ScanError, match=r"truncated|decoded"):
        put(stream[: len(stream) // 2] + bytes(len(stream) // 2))
    dataset.NumberOfFrames = 2
    with pytest.raises(ScanError, match="1 of its 2 frames"):
        put(stream)


def test_run_lengths_are_whole_or_refused(read):
    pixels = np.random.default_rng(0).integers(0, 4, (32, 32)).astype(np.uint16) * 1000
    dataset = files.dicom(pixels)
    dataset.compress(RLELossless)
    np.testing.assert_array_equal(read(dataset).values[0], pixels)
    (stream,) = generate_frames(dataset.PixelData, number_of_frames=1)
    for share in (0.05, 0.3, 0.6, 0.95):
        dataset.PixelData = encapsulate([stream[: int(share * len(stream))]])
        with pytest.raises(ScanError, match="cannot be decoded"):
            read(dataset)


def test_a_missing_decoder_is_told_with_its_cure(read, monkeypatch):
    dataset = files.dicom(RAMP, syntax=JPEGLSLossless)
    dataset.PixelData = encapsulate([b"\xff\xd8\xff\xd9"])
    dataset["PixelData"].is_undefined_length = True
    decoder = type("Decoder", (), {"is_available": False})()
    monkeypatch.setattr(dicom_pixels, "get_decoder", lambda syntax: decoder)
    with pytest.raises(ScanError) as told:
        read(dataset)
    assert "1.2.840.10008.1.2.4.80 (JPEG-LS Lossless" in str(told.value)
    assert "pip install 'medldr[dicom]'" in str(told.value)


def test_a_video_is_told(read):
    dataset = files.dicom(RAMP, syntax=UID("1.2.840.10008.1.2.4.100"))
    dataset.PixelData = encapsulate([b"\0\0\1\xb3"])
    dataset["PixelData"].is_undefined_length = True
    with pytest.raises(ScanError, match=r"1\.2\.840\.10008\.1\.2\.4\.100 \(MPEG2"):
        read(dataset)


def test_a_big_endian_file(tmp_path):
    dataset = files.dicom(RAMP.astype(">u2"), syntax=ExplicitVRBigEndian, **SPACED)
    scan = read_dicom_file(files.save(dataset, tmp_path / "a.dcm"))
    assert scan.values.dtype.isnative
    np.testing.assert_array_equal(scan.values[0], RAMP)
