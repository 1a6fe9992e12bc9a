"""One scan in every format: the same values, the same places."""

import dicom_files as files
import nibabel
import numpy as np
import pytest

from medldr.data.files.array import read_array
from medldr.data.files.dicom import read_dicom_file, read_dicom_series
from medldr.data.files.nifti import read_nifti
from medldr.data.files.scan import Source

SPACING = (0.75, 1.5, 2.25)


@pytest.fixture
def volume():
    return np.random.default_rng(3).integers(-1000, 2000, (7, 6, 5)).astype(np.int16)


def _oblique():
    """A right-handed turn by 25 degrees about one axis and 10 about another."""
    a, b = np.radians([25, 10])
    about_x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    about_z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3] = about_z @ about_x @ np.diag(SPACING)
    affine[:3, 3] = [-30.5, 12.25, 101.0]
    return affine


def _stored(volume, affine, axes):
    """The same scan with its axes in another order and direction, as in ``LPS`` or ``PIR``."""
    turns = nibabel.orientations.ornt_transform(
        nibabel.orientations.axcodes2ornt("RAS"), nibabel.orientations.axcodes2ornt(axes)
    )
    back = nibabel.orientations.inv_ornt_aff(turns, volume.shape)
    return nibabel.orientations.apply_orientation(volume, turns), affine @ back


@pytest.mark.parametrize("axes", ["RAS", "LPS", "PIR", "SAL", "LSP"])
def test_every_format_gives_the_same_scan(tmp_path, volume, axes):
    affine = _oblique()
    stored, stored_affine = _stored(volume, affine, axes)
    nibabel.save(nibabel.Nifti1Image(stored, stored_affine), tmp_path / "a.nii.gz")
    nibabel.save(nibabel.Nifti2Image(stored, stored_affine), tmp_path / "b.nii")
    nibabel.save(nibabel.Nifti1Pair(stored, stored_affine), tmp_path / "c.hdr")
    nibabel.save(nibabel.MGHImage(stored.astype(np.float32), stored_affine), tmp_path / "d.mgz")
    np.save(tmp_path / "e.npy", volume)
    count = stored.shape[2]
    names = [f"IM{name}" for name in np.random.default_rng(0).permutation(count)]
    files.series(tmp_path / "slices", stored, stored_affine, names=names)
    files.enhanced(tmp_path / "f.dcm", stored, stored_affine, order=[*range(1, count), 0])

    scans = [
        read_nifti(tmp_path / name) for name in ("a.nii.gz", "b.nii", "c.hdr", "c.img", "d.mgz")
    ]
    scans += [read_dicom_series(tmp_path / "slices"), read_dicom_file(tmp_path / "f.dcm")]
    for scan in scans:
        np.testing.assert_allclose(scan.values, volume[None], atol=1e-5)
        np.testing.assert_allclose(scan.affine, affine, atol=1e-4)
        np.testing.assert_allclose(scan.spacing, SPACING, atol=1e-5)
        assert scan.values.dtype.isnative
        assert scan.values.flags.c_contiguous
        assert not scan.warnings
        assert scan.frames == 1
    np.testing.assert_array_equal(read_array(Source(tmp_path / "e.npy"), 3).values, volume[None])


def test_rescaled_numbers_are_the_same_whichever_file_says_so(tmp_path, volume):
    affine = np.diag([*SPACING, 1.0])
    image = nibabel.Nifti1Image(volume, affine)
    image.header.set_slope_inter(0.5, -100)
    image.to_filename(tmp_path / "a.nii.gz")
    rescale = {"RescaleSlope": "0.5", "RescaleIntercept": "-100"}
    files.series(tmp_path / "slices", volume, affine, **rescale)
    files.enhanced(tmp_path / "b.dcm", volume, affine, rescale=lambda index: ("0.5", "-100"))
    expected = 0.5 * volume[None] - 100
    for scan in (
        read_nifti(tmp_path / "a.nii.gz"),
        read_dicom_series(tmp_path / "slices"),
        read_dicom_file(tmp_path / "b.dcm"),
    ):
        np.testing.assert_allclose(scan.values, expected, atol=1e-5)
        assert scan.values.dtype == np.float32
        assert scan.bits is None
