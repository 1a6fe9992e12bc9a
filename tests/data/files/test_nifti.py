"""NIfTI files as they come: any byte order, axes, scaling and damage."""

import gzip
import warnings
from pathlib import Path

import nibabel
import numpy as np
import pytest
from nibabel.testing import data_path

from medldr.data.files.nifti import read_nifti
from medldr.data.files.read import read_scan
from medldr.data.files.scan import Scan, ScanError, Source

RAMP = np.arange(6 * 5 * 4, dtype=np.float32).reshape(6, 5, 4)
REAL = Path(__file__).parents[3].parent / "shared" / "data" / "scans" / "nifti"


def _save(path, values, affine=None, **header):
    """A file with fields of its header set as they are, however wrong."""
    image = nibabel.Nifti1Image(values, np.eye(4) if affine is None else affine)
    content = bytearray(image.to_bytes())
    raw = nibabel.Nifti1Header(bytes(content[:348]), check=False)
    for name, value in header.items():
        raw[name] = value
    content[:348] = raw.binaryblock
    path.write_bytes(bytes(content))
    return path


def test_slope_and_intercept(tmp_path):
    raw = RAMP.astype(np.int16)
    scaled = read_nifti(_save(tmp_path / "a.nii", raw, scl_slope=0.5, scl_inter=-100))
    assert scaled.values.flat[0] == -100
    assert scaled.values.flat[-1] == -40.5
    assert scaled.mode == "int16"
    for slope in (0, np.nan):  # no scaling, by the format's own rule
        plain = read_nifti(_save(tmp_path / "b.nii", raw, scl_slope=slope, scl_inter=0))
        assert plain.values.dtype == np.int16
        np.testing.assert_array_equal(plain.values[0], raw)
    wide = read_nifti(_save(tmp_path / "c.nii", RAMP.astype(np.int32), scl_slope=2, scl_inter=1))
    assert wide.values.dtype == np.float64
    with pytest.raises(ScanError, match="header is not valid"):
        read_nifti(_save(tmp_path / "d.nii", raw, scl_slope=1, scl_inter=np.inf))


def test_bits_of_unsigned_numbers(tmp_path):
    assert read_nifti(_save(tmp_path / "a.nii", RAMP.astype(np.uint8))).bits == 8
    assert read_nifti(_save(tmp_path / "b.nii", RAMP.astype(np.uint16))).bits == 16
    assert read_nifti(_save(tmp_path / "c.nii", RAMP.astype(np.int16))).bits is None
    scaled = _save(tmp_path / "d.nii", RAMP.astype(np.uint8), scl_slope=2, scl_inter=0)
    assert read_nifti(scaled).bits is None


def test_without_sform_and_qform_axes_stay(tmp_path):
    pixdim = [1, 0.5, 0.75, 3, 1, 1, 1, 1]
    header = {"sform_code": 0, "qform_code": 0, "pixdim": pixdim}
    scan = read_nifti(_save(tmp_path / "a.nii", RAMP, np.diag([-1.0, 1, 1, 1]), **header))
    np.testing.assert_array_equal(scan.values[0], RAMP)
    assert scan.affine is None
    np.testing.assert_allclose(scan.spacing, (0.5, 0.75, 3))
    assert "does not say how the patient lay" in scan.warnings[0]


@pytest.mark.parametrize("length", [0, np.nan])
def test_a_length_that_is_none_is_unknown(tmp_path, length):
    header = {"sform_code": 0, "qform_code": 1, "pixdim": [1, 1, 1, length, 0, 0, 0, 0]}
    scan = read_nifti(_save(tmp_path / "a.nii", RAMP, **header))
    assert scan.spacing is None
    assert scan.affine is None
    assert "pixdim is zero or not a number" in scan.warnings[-1]


def test_an_sform_and_a_qform_that_contradict_each_other_are_told(tmp_path):
    image = nibabel.Nifti1Image(RAMP, np.eye(4))
    for qform, told in ((np.diag([-1.0, 1, 1, 1]), True), (np.diag([1.01, 1, 1, 1]), False)):
        image.set_sform(np.eye(4), 1)
        image.set_qform(qform, 1)
        nibabel.save(image, tmp_path / "a.nii")
        scan = read_nifti(tmp_path / "a.nii")
        np.testing.assert_array_equal(scan.values[0], RAMP)
        assert len(scan.warnings) == told
        assert not told or "the sform (RAS) was taken, not the qform (LAS)" in scan.warnings[0]


def test_an_sform_of_zeros_gives_way_to_the_qform(tmp_path):
    header = {"qform_code": 1, **dict.fromkeys(("srow_x", "srow_y", "srow_z"), 0)}
    scan = read_nifti(_save(tmp_path / "a.nii", RAMP, np.diag([2.0, 2, 2, 1]), **header))
    assert scan.spacing == (2, 2, 2)
    assert "sform" in scan.warnings[0]


@pytest.mark.parametrize(("code", "factor"), [(0, 1), (1, 1000), (2, 1), (3, 0.001)])
def test_lengths_become_mm(tmp_path, code, factor):
    scan = read_nifti(_save(tmp_path / "a.nii", RAMP, np.diag([2.0, 3, 4, 1]), xyzt_units=code))
    np.testing.assert_allclose(scan.spacing, np.array([2, 3, 4]) * factor)
    np.testing.assert_allclose(np.diag(scan.affine)[:3], np.array([2, 3, 4]) * factor)
    assert bool(scan.warnings) == (factor != 1)


def test_channels(tmp_path):
    two = np.stack([RAMP, RAMP + 1000], axis=-1)
    for name, stored in {"a": two, "b": two[:, :, :, None, :], "c": two[..., None]}.items():
        scan = read_nifti(_save(tmp_path / f"{name}.nii", stored))
        np.testing.assert_array_equal(scan.values, np.moveaxis(two, -1, 0))
    assert read_nifti(_save(tmp_path / "d.nii", RAMP[..., None])).values.shape == (1, 6, 5, 4)
    assert read_nifti(_save(tmp_path / "e.nii", RAMP[..., 0])).values.shape == (1, 6, 5, 1)
    assert read_nifti(_save(tmp_path / "f.nii", np.ones((3, 3, 3, 9)))).values.shape == (9, 3, 3, 3)
    with pytest.raises(ScanError, match="2 x 2 x 2 x 2 x 2, not that of a volume"):
        read_nifti(_save(tmp_path / "g.nii", np.ones((2,) * 5)))


def test_channels_stay_with_their_voxels_when_axes_turn(tmp_path):
    two = np.stack([RAMP, RAMP + 1000], axis=-1)
    affine = np.diag([-1.0, -1, 1, 1])
    scan = read_nifti(_save(tmp_path / "a.nii", two, affine))
    np.testing.assert_array_equal(scan.values, np.moveaxis(two[::-1, ::-1], -1, 0))


def test_rgb_voxels_become_three_channels(tmp_path):
    colours = np.random.default_rng(0).integers(0, 256, (4, 3, 2, 3), np.uint8)
    stored = np.ascontiguousarray(colours).view([("R", "u1"), ("G", "u1"), ("B", "u1")])[..., 0]
    scan = read_nifti(_save(tmp_path / "a.nii", stored))
    np.testing.assert_array_equal(scan.values, np.moveaxis(colours, -1, 0))
    assert (scan.mode, scan.bits) == ("RGB", 8)


def test_complex_numbers_are_refused_with_a_cure(tmp_path):
    with pytest.raises(ScanError, match="Save their magnitude"):
        read_nifti(_save(tmp_path / "a.nii", RAMP.astype(np.complex64)))


def test_broken_files_are_told_without_their_name(tmp_path):
    noise = np.random.default_rng(0).random((12, 12, 12), np.float32)
    content = nibabel.Nifti1Image(noise, np.eye(4)).to_bytes()
    zipped = gzip.compress(content)
    damaged = bytearray(zipped)
    damaged[len(damaged) // 2] ^= 0xFF
    wrong_sum = bytearray(zipped)
    wrong_sum[-6] ^= 0xFF
    broken = {
        "secret_1.nii.gz": (zipped[: len(zipped) // 2], "truncated"),
        "secret_2.nii.gz": (b"", "empty"),
        "secret_3.nii.gz": (bytes(damaged), "cannot be unpacked|truncated"),
        "secret_4.nii.gz": (bytes(wrong_sum), "cannot be unpacked"),
        "secret_5.nii": (content[: len(content) // 2], "truncated"),
        "secret_6.nii": (content[:100], "not a NIfTI file"),
        "secret_7.nii": (b"<html>not found</html>" * 40, "not a NIfTI file"),
        "secret_8.hdr": (b"", "empty"),
        "secret_9.mgz": (zipped[:400], "."),
    }
    for name, (bytes_, why) in broken.items():
        (tmp_path / name).write_bytes(bytes_)
        with pytest.raises(ScanError, match=why) as told:
            read_scan(Source(tmp_path / name))
        assert "secret" not in str(told.value)
    with pytest.raises(ScanError, match="no such file"):
        read_scan(Source(tmp_path / "absent.nii"))


def test_analyze_says_nothing_about_the_patient(tmp_path):
    image = nibabel.AnalyzeImage(RAMP, None)
    image.header.set_zooms((0.5, 0.5, 3))
    image.to_filename(tmp_path / "a.img")
    scan = read_nifti(tmp_path / "a.img")
    np.testing.assert_array_equal(scan.values[0], RAMP)
    assert scan.affine is None
    assert scan.spacing == (0.5, 0.5, 3)
    assert "does not say how the patient lay" in scan.warnings[0]


def _shipped():
    ends = (".nii", ".nii.gz", ".hdr", ".img", ".mgz")
    return sorted(path for path in Path(data_path).iterdir() if path.name.endswith(ends))


@pytest.mark.parametrize("path", _shipped(), ids=lambda path: path.name)
def test_files_that_nibabel_ships(path, capfd):
    scan, told = None, ""
    try:
        scan = read_nifti(path)
    except ScanError as error:
        told = str(error)
    assert capfd.readouterr() == ("", "")
    assert path.name not in told
    if scan is None:
        assert path.name in ("analyze.hdr", "nifti1.hdr", "nifti2.hdr", "row_major.dconn.nii")
        return
    assert isinstance(scan, Scan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = nibabel.as_closest_canonical(nibabel.load(path))
    values = np.asanyarray(reference.dataobj).reshape(*reference.shape[:3], -1)
    good = np.isfinite(values)
    found = np.moveaxis(scan.values, 0, -1)
    np.testing.assert_allclose(found[good], values[good], rtol=1e-6)
    np.testing.assert_allclose(scan.affine, reference.affine, atol=1e-6)


def test_real_volumes_equal_simpleitk():
    sitk = pytest.importorskip("SimpleITK")
    paths = sorted(REAL.glob("*.nii.gz"))
    if not paths:
        pytest.skip(f"real data is absent: {REAL}")
    for path in paths:
        scan = read_nifti(path)
        image = sitk.DICOMOrient(sitk.ReadImage(str(path)), "LPS")  # where indices grow to
        # RAS+ counts its first two axes the other way than LPS+.
        values = sitk.GetArrayFromImage(image).transpose(2, 1, 0)[::-1, ::-1]
        np.testing.assert_allclose(scan.values[0], values, rtol=1e-6)
        np.testing.assert_allclose(scan.spacing, image.GetSpacing(), rtol=1e-6)


def test_a_pair_that_promises_more_than_it_holds_is_refused_before_memory_is_asked_for(tmp_path):
    header = nibabel.Nifti1Header()
    header.set_data_shape((32_000, 32_000, 32_000))
    header["magic"] = b"ni1"
    (tmp_path / "a.hdr").write_bytes(header.binaryblock)
    (tmp_path / "a.img").write_bytes(bytes(100))
    with pytest.raises(ScanError, match="fewer voxels than its header says"):
        read_nifti(tmp_path / "a.hdr")
