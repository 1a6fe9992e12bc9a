"""Single DICOM files: pictures, volumes and films, and which files are none."""

import dicom_files as files
import numpy as np
import pydicom
import pytest

from medldr.data.files.dicom import read_dicom_file
from medldr.data.files.dicom_file import open_dicom
from medldr.data.files.read import read_scan
from medldr.data.files.scan import ScanError, Source

RAMP = np.arange(16, dtype=np.uint16).reshape(4, 4)
SPACED = {"PixelSpacing": ["0.5", "0.25"]}


def test_a_slice_is_a_picture(read):
    scan = read(
        RAMP, RescaleSlope="2", RescaleIntercept="-1024", WindowCenter=["40", "1"],
        WindowWidth=["400", "2"], **SPACED,
    )  # fmt: skip
    np.testing.assert_array_equal(scan.values[0], 2.0 * RAMP - 1024)
    assert scan.spacing == (0.5, 0.25)
    assert scan.window == (-160, 239)
    assert (scan.mode, scan.bits, scan.modality) == ("16-bit MONOCHROME2", None, "CT")
    assert (scan.frames, scan.affine, scan.warnings) == (1, None, ())


def test_what_is_empty_is_absent(read):
    empty = read(RAMP, RescaleSlope="", RescaleIntercept="", PixelSpacing=["0", "0"])
    np.testing.assert_array_equal(empty.values[0], RAMP)
    assert (empty.spacing, empty.bits, empty.window) == (None, 16, None)
    told, spacing = empty.warnings[0], empty.warnings[-1]
    assert told == "elements that are empty count as absent: RescaleIntercept, RescaleSlope"
    assert "spacing is unknown" in spacing
    only = read(RAMP, RescaleIntercept="-5", **SPACED)
    np.testing.assert_array_equal(only.values[0], RAMP - 5.0)


def test_spacing_at_the_detector_is_told(read):
    scan = read(RAMP, ImagerPixelSpacing=["0.2", "0.1"])
    assert scan.spacing == (0.2, 0.1)
    assert "at the detector" in scan.warnings[0]


def test_a_slope_of_zero_is_none(read):
    scan = read(RAMP, RescaleSlope="0", RescaleIntercept="7", **SPACED)
    np.testing.assert_array_equal(scan.values[0], RAMP)
    assert "slope is 0" in scan.warnings[0]


def test_a_modality_table_is_applied(read):
    table = files.Dataset()
    table.LUTDescriptor, table.LUTData = [4, 2, 16], [100, 200, 300, 4000]
    table["LUTDescriptor"].VR = table["LUTData"].VR = "US"
    table.ModalityLUTType = "US"
    scan = read(RAMP, ModalityLUTSequence=[table])
    np.testing.assert_array_equal(scan.values[0, 0], [100, 100, 100, 200])
    np.testing.assert_array_equal(scan.values[0, 1:], [[300] + [4000] * 3] + [[4000] * 4] * 2)
    dark = read(RAMP, ModalityLUTSequence=[table], PhotometricInterpretation="MONOCHROME1")
    np.testing.assert_array_equal(dark.values, 65535 - scan.values)


def test_windows(read):
    def window(**tags):
        return read(RAMP, **SPACED, **tags).window

    assert window(WindowCenter="50", WindowWidth="101") == (-0.5, 99.5)
    exact = {"VOILUTFunction": "LINEAR_EXACT"}
    assert window(WindowCenter="50", WindowWidth="100", **exact) == (0, 100)
    assert window(WindowCenter="50", WindowWidth="1") is None
    assert window(WindowCenter="", WindowWidth="") is None
    assert window(WindowCenter="50") is None


def test_frames_of_an_enhanced_file_are_rescaled_one_by_one(tmp_path):
    volume = np.random.default_rng(0).integers(0, 99, (4, 3, 3)).astype(np.int16)
    path = files.enhanced(
        tmp_path / "a.dcm", volume, np.diag([1.0, 2, 3, 1]), order=[2, 0, 1],
        rescale=lambda index: (str(index + 1), str(-10 * index)),
    )  # fmt: skip
    scan = read_dicom_file(path)
    np.testing.assert_array_equal(scan.values[0], volume * [1.0, 2, 3] - [0, 10, 20])
    np.testing.assert_allclose(scan.spacing, (1, 2, 3))


def test_frames_at_one_place_are_refused(tmp_path):
    volume = np.zeros((4, 3, 3), np.int16)
    path = files.enhanced(tmp_path / "a.dcm", volume, np.eye(4), order=[0, 1, 1, 0])
    with pytest.raises(ScanError, match="4 slices lie at only 2 places"):
        read_dicom_file(path)


def test_one_frame_of_an_enhanced_file_knows_its_spacing(tmp_path):
    volume = np.zeros((4, 3, 1), np.int16)
    scan = read_dicom_file(files.enhanced(tmp_path / "a.dcm", volume, np.diag([1.0, 2, 3, 1])))
    assert scan.values.shape == (1, 3, 4)
    assert scan.spacing == (2, 1)


def test_layers_of_a_dose(tmp_path):
    dose = np.random.default_rng(0).integers(0, 99, (3, 4, 5)).astype(np.uint16)
    dataset = files.dicom(
        dose, frames=True, DoseGridScaling="0.5", GridFrameOffsetVector=["0", "2.5", "5"],
        **files.geometry(np.diag([-1.0, -1, 1, 1])),
    )  # fmt: skip
    scan = read_dicom_file(files.save(dataset, tmp_path / "a.dcm"))
    np.testing.assert_array_equal(scan.values[0], 0.5 * dose.transpose(2, 1, 0)[::-1, ::-1])
    assert scan.spacing == (1, 1, 2.5)


def test_elements_that_make_no_sense(tmp_path):
    """What only describes the picture may be broken, what decides its values may not."""
    tags = {"RescaleSlope": "2.25", "RescaleIntercept": "0", "WindowCenter": "7.5"}
    dataset = files.dicom(RAMP, WindowWidth="9", **tags)
    whole = files.save(dataset, tmp_path / "a.dcm").read_bytes()
    for tag, kind in ((b"\x50\x10DS", b"\x50\x10QQ"), (b"7.5", b"a.b")):
        (tmp_path / "b.dcm").write_bytes(whole.replace(tag, kind))
        scan = read_dicom_file(tmp_path / "b.dcm")
        assert scan.window is None
        np.testing.assert_array_equal(scan.values[0], RAMP * 2.25)
    for tag, kind, why in (
        (b"\x53\x10DS", b"\x53\x10QQ", "its element RescaleSlope cannot be understood"),
        (b"2.25", b"a.bc", "its rescale slope or intercept is not a number"),
    ):
        (tmp_path / "c.dcm").write_bytes(whole.replace(tag, kind))
        with pytest.raises(ScanError, match=why):
            read_dicom_file(tmp_path / "c.dcm")


@pytest.mark.parametrize("implicit", [True, False])
def test_a_file_without_its_first_bytes(tmp_path, implicit):
    bare = pydicom.Dataset(files.dicom(RAMP, **SPACED))
    with (tmp_path / "a.dcm").open("wb") as file:
        pydicom.dcmwrite(
            file, bare, implicit_vr=implicit, little_endian=True, enforce_file_format=False
        )
    scan = read_dicom_file(tmp_path / "a.dcm")
    np.testing.assert_array_equal(scan.values[0], RAMP)
    assert len(scan.warnings) == 1
    assert ("Implicit" if implicit else "Explicit") in scan.warnings[0]


def test_what_is_no_dicom_picture(tmp_path):
    whole = files.save(files.dicom(RAMP), tmp_path / "whole.dcm").read_bytes()
    report = files.dicom(RAMP, PixelData=None, Rows=None, Columns=None)
    report.SOPClassUID = "1.2.840.10008.5.1.4.1.1.88.11"
    lost = files.dicom(RAMP, PixelData=None)
    made = {
        "secret_1.dcm": (b"this is not a DICOM file\n" * 20, "not a DICOM file"),
        "secret_2.dcm": (b"", "empty"),
        "secret_3.dcm": (whole[:-7], "decoded|missing"),
        "secret_4.dcm": (whole[:200], "holds no picture|damaged|missing"),
        "secret_5.dcm": (b"\x08\0\5\0" + bytes(90), "not a DICOM file"),
        "secret_6.dcm": (
            files.save(report, tmp_path / "r").read_bytes(),
            "holds no picture .Basic Text SR",
        ),
        "secret_7.dcm": (files.save(lost, tmp_path / "l").read_bytes(), "pixels are missing"),
    }
    for name, (content, why) in made.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ScanError, match=why) as told:
            read_scan(Source(tmp_path / name))
        assert "secret" not in str(told.value)
    with pytest.raises(ScanError, match="no such file"):
        read_scan(Source(tmp_path / "absent.dcm"))


def test_sequences_within_sequences_without_end_are_damage(tmp_path):
    file = tmp_path / "a.dcm"
    begin = (
        bytes.fromhex("08000600") + b"SQ\0\0\xff\xff\xff\xff" + bytes.fromhex("feff00e0ffffffff")
    )
    meta = bytes.fromhex("0200100055490000")[:4] + b"UI\x14\x001.2.840.10008.1.2.1\0"
    file.write_bytes(bytes(128) + b"DICM" + meta + begin * 3000)
    with pytest.raises(ScanError, match="damaged"):
        open_dicom(file)


def test_the_window_of_an_inverted_picture_with_a_table_is_inverted_too(read):
    table = files.Dataset()
    table.LUTDescriptor, table.ModalityLUTType = [256, 0, 8], "US"
    table.add_new("LUTData", "OW", np.arange(256, dtype="<u2").tobytes())
    tags = {"ModalityLUTSequence": [table], "WindowCenter": 8, "WindowWidth": 16}
    for photometric, expected in (("MONOCHROME2", (0, 15)), ("MONOCHROME1", (240, 255))):
        scan = read(RAMP.astype(np.uint8), PhotometricInterpretation=photometric, **tags)
        assert scan.window == (scan.values.min(), scan.values.max()) == expected
