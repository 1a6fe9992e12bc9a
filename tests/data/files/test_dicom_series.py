"""Folders of slices: which files belong together, in which order, and what is refused."""

import shutil
from pathlib import Path

import dicom_files as files
import nibabel
import numpy as np
import pytest

from medldr.data.files.dicom import list_folder, read_dicom_series
from medldr.data.files.scan import ScanError

REAL = Path(__file__).parents[3].parent / "shared" / "data" / "scans" / "dicom"
AFFINE = np.diag([0.5, 0.75, 2.0, 1.0])
OTHER = f"{files.ROOT}3"


@pytest.fixture
def volume():
    return np.random.default_rng(1).integers(-500, 500, (6, 5, 4)).astype(np.int16)


def _refused(folder, why, **given):
    with pytest.raises(ScanError, match=why) as told:
        read_dicom_series(folder, **given)
    for secret in (files.NAME, files.IDENTITY, files.ROOT, str(folder)):
        assert secret not in str(told.value)
    return str(told.value)


def _again(change=None, affine=AFFINE, **tags):
    """A further slice, with elements of its own."""
    pixels = np.zeros((5, 6), np.int16) if change is None else change
    return files.dicom(pixels, **{**files.geometry(affine), "InstanceNumber": 1, **tags})


def test_places_decide_the_order_and_names_do_not(tmp_path, volume):
    files.series(tmp_path, volume, AFFINE, names=["IM9", "IM2", "a.b.c", "x.txt"])
    (tmp_path / ".hidden").write_bytes(b"?")
    (tmp_path / "DICOMDIR").write_bytes(b"?")
    (tmp_path / "deeper").mkdir()
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume)
    np.testing.assert_allclose(scan.affine, AFFINE, atol=1e-9)
    assert scan.spacing == (0.5, 0.75, 2)
    assert (scan.kind, scan.mode, scan.warnings) == ("dicom", "16-bit signed MONOCHROME2", ())


def test_each_slice_has_its_own_rescaling(tmp_path, volume):
    files.series(
        tmp_path, volume, AFFINE,
        each=lambda index: {"RescaleSlope": str(index + 1), "RescaleIntercept": str(-index)},
    )  # fmt: skip
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume * [1.0, 2, 3, 4] - [0, 1, 2, 3])


def test_single_pictures_beside_a_series_are_left_out_and_counted(tmp_path, volume):
    files.series(tmp_path, volume, AFFINE)
    localizer = _again(np.zeros((8, 8), np.uint16), SeriesInstanceUID=OTHER)
    files.save(localizer, tmp_path / "IM9")
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume)
    assert scan.warnings == ("files of other series are left out: 1 (CT 1)",)
    assert list(map(len, list_folder(tmp_path).series.values())) == [4, 1]
    alone = read_dicom_series(tmp_path, OTHER)
    assert alone.values.shape == (1, 8, 8, 1)
    _refused(tmp_path, "none of the 2 series", series_uid=f"{files.ROOT}4")


def test_other_files_are_left_out_and_counted(tmp_path, volume):
    files.series(tmp_path, volume, AFFINE)
    (tmp_path / "notes.txt").write_text("not a slice\n" * 30)
    (tmp_path / "empty.dcm").touch()
    files.save(_again(Rows=None, Columns=None, PixelData=None), tmp_path / "report.dcm")
    shutil.copy(tmp_path / "001.dcm", tmp_path / "copy of 001.dcm")
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume)
    assert scan.warnings == (
        "files without a DICOM picture are left out: 3",
        "files that repeat a slice are left out: 1",
    )


def test_slices_that_make_up_no_volume_are_refused(tmp_path, volume):
    odd = {
        "4 of 5 x 6 x 1, 1 of 8 x 8 x 1 .rows x columns": _again(np.zeros((8, 8), np.int16)),
        "1 are not parallel": _again(ImageOrientationPatient=[0, 1, 0, 0, 0, 1]),
        "2 pixel spacings": _again(PixelSpacing=[1, 1]),
        "5 slices lie at only 4 places": _again(),
        "1 of its 5 slices do not say where they lie": _again(ImagePositionPatient=None),
        "at right angles": _again(ImageOrientationPatient=[1, 0, 0, 1, 0, 0]),
        "slice 5 of 5 .*decoded": _again(PixelData=b"\0\0", ImagePositionPatient=[0, 0, 8]),
        "1 of 5 x 6 x 3": files.dicom(
            np.zeros((5, 6, 3), np.uint8),
            colour=True,
            SOPClassUID=files.CTImageStorage,
            **files.geometry(AFFINE),
        ),
        "holds 2 series or films": files.dicom(np.zeros((2, 5, 6), np.int16), frames=True),
    }
    for number, (why, dataset) in enumerate(odd.items()):
        folder = files.series(tmp_path / str(number), volume, AFFINE)
        files.save(dataset, folder / "odd.dcm")
        assert ("odd.dcm" in _refused(folder, why)) == ("series or films" not in why)


def test_a_copied_slice_counts_once_but_echoes_under_one_uid_are_refused(tmp_path, volume):
    one_uid = {"SOPInstanceUID": f"{files.ROOT}7"}
    files.series(tmp_path, volume, AFFINE, **one_uid)
    shutil.copy(tmp_path / "001.dcm", tmp_path / "copy")
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume)
    assert scan.warnings[0] == "files that repeat a slice are left out: 1"
    files.series(tmp_path, volume + 1, AFFINE, names="abcd", **one_uid)
    assert "as echoes" in _refused(tmp_path, "8 slices lie at only 4 places")


def test_a_missing_slice_is_told(tmp_path):
    volume = np.arange(60, dtype=np.int16).reshape(2, 3, 10)
    files.series(tmp_path, volume, AFFINE)
    (tmp_path / "004.dcm").unlink()
    scan = read_dicom_series(tmp_path)
    assert scan.values.shape == (1, 2, 3, 9)
    assert "1 of 8 distances" in scan.warnings[0]
    assert "usual 2 mm, from 2 to 4 mm" in scan.warnings[0]


def test_a_tilted_gantry_keeps_its_shear(tmp_path, volume):
    affine = AFFINE.copy()
    affine[1, 2] = 2 * np.tan(np.radians(15))
    scan = read_dicom_series(files.series(tmp_path, volume, affine))
    np.testing.assert_allclose(scan.affine, affine, atol=1e-8)
    assert "gantry tilt of 15.0 degrees" in scan.warnings[0]
    np.testing.assert_array_equal(scan.values[0], volume)


@pytest.mark.parametrize(
    ("tags", "spacing"),
    [
        ({"SpacingBetweenSlices": "3.5", "SliceThickness": "3"}, (0.5, 0.75, 3.5)),
        ({"SliceThickness": "3"}, (0.5, 0.75, 3)),
        ({}, None),
        ({"SliceThickness": "3", "PixelSpacing": None}, None),
    ],
)
def test_a_single_slice(tmp_path, volume, tags, spacing):
    turned = np.diag([-0.5, 0.75, 2.0, 1.0])
    files.series(tmp_path / "a", volume[::-1, :, :1], turned, **tags)
    scan = read_dicom_series(tmp_path / "a")
    np.testing.assert_array_equal(scan.values[0], volume[..., :1])  # turned, though unmeasured
    assert scan.spacing == spacing
    assert (scan.affine is None) == (spacing is None) == bool(scan.warnings)
    nowhere = {"ImagePositionPatient": None, **tags}
    files.series(tmp_path / "b", volume[..., :1], turned, **nowhere)
    placeless = read_dicom_series(tmp_path / "b")
    np.testing.assert_array_equal(placeless.values[0], volume[..., :1])
    assert placeless.spacing == spacing
    assert placeless.affine is None
    assert any("axes stay as stored" in said for said in placeless.warnings)


def test_one_file_of_many_frames(tmp_path, volume):
    files.enhanced(tmp_path / "a.dcm", volume, AFFINE, order=[3, 1, 0, 2])
    (tmp_path / "notes.txt").write_text("?")
    scan = read_dicom_series(tmp_path)
    np.testing.assert_array_equal(scan.values[0], volume)
    assert len(scan.warnings) == 1


def _equal_to_simpleitk(folder):
    sitk = pytest.importorskip("SimpleITK")
    reader = sitk.ImageSeriesReader()
    (uid,) = reader.GetGDCMSeriesIDs(str(folder))
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder), uid))
    image = reader.Execute()
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) @ np.diag(image.GetSpacing())
    affine[:3, 3] = image.GetOrigin()
    affine[:2] *= -1  # LPS to RAS
    values = sitk.GetArrayFromImage(image).transpose(2, 1, 0)
    turned = nibabel.as_closest_canonical(nibabel.Nifti1Image(values.astype(float), affine))
    scan = read_dicom_series(folder)
    np.testing.assert_allclose(scan.values[0], np.asarray(turned.dataobj), rtol=1e-6)
    np.testing.assert_allclose(scan.affine, turned.affine, atol=1e-5)
    np.testing.assert_allclose(
        scan.spacing, np.linalg.norm(turned.affine[:3, :3], axis=0), rtol=1e-6
    )
    assert not scan.warnings


@pytest.mark.parametrize(
    "directions",
    [
        np.eye(3),
        np.diag([-1, -1, 1]),
        np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]),  # sagittal
        np.array([[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]),  # oblique
    ],
)
def test_a_series_equals_simpleitk(tmp_path, volume, directions):
    affine = np.eye(4)
    affine[:3, :3] = directions @ np.diag([0.5, 0.75, 2.0])
    affine[:3, 3] = [10.5, -20, 31]
    rescale = {"RescaleSlope": "1.5", "RescaleIntercept": "-7"}
    names = [f"{name}.dcm" for name in ("z", "c", "a", "b")]
    files.series(tmp_path, volume, affine, names=names, **rescale)
    _equal_to_simpleitk(tmp_path)


@pytest.mark.parametrize("name", ["brain_t1", "hippocampus_a", "hippocampus_b"])
def test_real_series_equal_simpleitk(name):
    if not (REAL / name).is_dir():
        pytest.skip(f"real data is absent: {REAL / name}")
    _equal_to_simpleitk(REAL / name)
