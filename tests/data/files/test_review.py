"""Left and right, one pixel beside, and values of no unit: what must not change unseen."""

import os

import dicom_files as files
import nibabel
import numpy as np
import pytest
from monai.transforms import ResizeWithPadOrCrop
from PIL import Image
from pydicom.dataset import Dataset

from medldr.data.files import image as images
from medldr.data.files import proof
from medldr.data.files.config import CropConfig, ScanConfig
from medldr.data.files.dicom import read_dicom_file, read_dicom_series
from medldr.data.files.dicom_file import open_dicom
from medldr.data.files.geometry import around_point
from medldr.data.files.image import ScanImages, make_image
from medldr.data.files.intensity import rule_name, value_range
from medldr.data.files.memory import state_of
from medldr.data.files.nifti import read_nifti
from medldr.data.files.proof import prove_items
from medldr.data.files.read import read_scan
from medldr.data.files.scan import Scan, ScanError, Source

LEFT_TO_RIGHT, RIGHT_TO_LEFT = np.diag([1.0, 1, 1, 1]), np.diag([-1.0, 1, 1, 1])


@pytest.mark.parametrize("modality", ["MR", "NM", "PT"])
@pytest.mark.parametrize("bits", [12, 16])
def test_numbers_without_a_unit_are_scaled_by_what_they_are_not_by_their_bits(
    rules, modality, bits
):
    scan = Scan(np.array([[[20, 820]]], np.uint16), "dicom", "", bits=bits, modality=modality)
    assert value_range(scan, rules(percentiles=(0.0, 100.0))) == (20, 820)
    assert rule_name(scan, "auto", 16) == "percentile"


@pytest.mark.parametrize("column", range(4, 12))
def test_neighbouring_points_have_neighbouring_boxes(column):
    scan = Scan(np.arange(16.0).reshape(1, 1, 16), "picture", "")
    crop = CropConfig(point=("x", "y"), size=(4, 1), unit="pixel")
    found = around_point(scan, (float(column), 0.0), crop).values.ravel()
    assert found.tolist() == [column - 1, column, column + 1, column + 2]


@pytest.mark.parametrize("size", [(4, 10), (5, 3), (8, 6)])
@pytest.mark.parametrize("shape", [(7, 7), (6, 9)])
def test_bytes_are_padded_and_cut_like_real_numbers(tmp_path, rules, shape, size):
    pixels = np.arange(1, 1 + np.prod(shape), dtype=np.uint8).reshape(shape)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = make_image(
        Source(tmp_path / "a.png"), rules(dims=2, size=size, pad=True, eight_bit=True)
    )
    expected = np.asarray(ResizeWithPadOrCrop(size)(pixels[None]))
    np.testing.assert_array_equal(found, expected)


def _nifti(path, values, affine, code=1):
    nibabel.Nifti1Image(values, affine if code else None).to_filename(path)
    return path


@pytest.mark.parametrize(
    ("affine", "code", "words"),
    [
        (RIGHT_TO_LEFT, 1, ""),
        (LEFT_TO_RIGHT, 1, "its mask lies up to 7 mm beside it, or is turned"),
        (RIGHT_TO_LEFT, 0, "it says how the patient lay, and its mask does not"),
    ],
)
def test_a_mask_that_would_mark_the_other_side_is_refused(tmp_path, affine, code, words):
    marked = np.zeros((8, 8, 8), np.uint8)
    marked[1:3, 4, 4] = 1
    scan = _nifti(tmp_path / "scan.nii", marked.astype(np.int16) * 9, RIGHT_TO_LEFT)
    mask = _nifti(tmp_path / "mask.nii", marked, affine, code)
    config = ScanConfig(name="table", crop=CropConfig(mask="mask"))
    (one,) = prove_items([Source(scan, mask=Source(mask))], ["a"], config, "set")
    assert one.reason.startswith(words) if words else not one.reason


def test_a_slice_put_back_from_a_copy_changes_its_folder(tmp_path):
    for name, when in (("a", 5), ("b", 9)):
        (tmp_path / name).write_bytes(bytes(4))
        os.utime(tmp_path / name, (when, when))
    os.utime(tmp_path, (9, 9))
    before = state_of(tmp_path)
    assert state_of(tmp_path) == before
    (tmp_path / "a").write_bytes(b"1234")
    os.utime(tmp_path / "a", (3, 3))  # older than the latest, as `cp -p` leaves it
    assert state_of(tmp_path) != before


def test_a_file_is_read_again_when_a_decoder_is_installed(tmp_path, monkeypatch):
    Image.new("L", (4, 4), 7).save(tmp_path / "a.png")
    config = ScanConfig(name="table")
    read = []

    def reads(source, *args, **kinds):
        read.append(source)
        return read_scan(source, *args, **kinds)

    monkeypatch.setattr(proof, "read_scan", reads)
    os.utime(tmp_path / "a.png", (9, 9))
    for versions, times in (("1", 1), ("1", 1), ("2", 2)):
        monkeypatch.setattr(proof, "readers", lambda versions=versions: versions)
        prove_items([Source(tmp_path / "a.png")], ["a"], config, "set")
        assert len(read) == times


def test_images_of_another_version_have_another_file_but_are_of_the_same_data(monkeypatch, rules):
    made = []
    for versions in ("torch 1", "torch 2"):
        monkeypatch.setattr(images, "makers", lambda versions=versions: versions)
        made.append(ScanImages([], [], rules(dims=2), (4, 4)))
    assert made[0].stamp == made[1].stamp
    assert made[0].key != made[1].key


def test_a_pair_that_promises_more_than_it_holds_is_refused_before_memory_is_asked_for(tmp_path):
    header = nibabel.Nifti1Header()
    header.set_data_shape((32_000, 32_000, 32_000))
    header["magic"] = b"ni1"
    (tmp_path / "a.hdr").write_bytes(header.binaryblock)
    (tmp_path / "a.img").write_bytes(bytes(100))
    with pytest.raises(ScanError, match="fewer voxels than its header says"):
        read_nifti(tmp_path / "a.hdr")


def test_sequences_within_sequences_without_end_are_damage(tmp_path):
    file = tmp_path / "a.dcm"
    begin = (
        bytes.fromhex("08000600") + b"SQ\0\0\xff\xff\xff\xff" + bytes.fromhex("feff00e0ffffffff")
    )
    meta = bytes.fromhex("0200100055490000")[:4] + b"UI\x14\x001.2.840.10008.1.2.1\0"
    file.write_bytes(bytes(128) + b"DICM" + meta + begin * 3000)
    with pytest.raises(ScanError, match="damaged"):
        open_dicom(file)


def _slices(folder, values, **tags):
    for name, value in enumerate(values):
        place = [0, 0, float(value % 10)]
        slice_ = files.dicom(
            np.full((4, 4), value, np.uint16),
            ImagePositionPatient=place,
            ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
            PixelSpacing=[1, 1],
            SOPInstanceUID="1.2.3",
            **tags,
        )
        slice_.save_as(folder / f"{name}.dcm", enforce_file_format=True)


def test_a_copied_slice_counts_once_but_echoes_under_one_uid_are_refused(tmp_path):
    _slices(tmp_path, [1, 2, 2, 3])
    scan = read_dicom_series(tmp_path)
    assert scan.values.shape == (1, 4, 4, 3)
    assert scan.warnings[0] == "1 of its 4 files repeat a slice and are left out"
    _slices(tmp_path, [1, 2, 3, 11, 12, 13])
    with pytest.raises(ScanError, match="6 slices lie at only 3 places"):
        read_dicom_series(tmp_path)


def test_the_window_of_an_inverted_picture_with_a_table_is_inverted_too(tmp_path):
    table = Dataset()
    table.LUTDescriptor, table.ModalityLUTType = [256, 0, 8], "US"
    table.add_new("LUTData", "OW", np.arange(256, dtype="<u2").tobytes())
    windows = []
    for photometric in ("MONOCHROME2", "MONOCHROME1"):
        picture = files.dicom(
            np.arange(16, dtype=np.uint8).reshape(4, 4),
            PhotometricInterpretation=photometric,
            ModalityLUTSequence=[table],
            WindowCenter=8,
            WindowWidth=16,
        )
        picture.save_as(tmp_path / "a.dcm", enforce_file_format=True)
        scan = read_dicom_file(tmp_path / "a.dcm")
        windows.append((scan.window, scan.values.min(), scan.values.max()))
    assert windows == [((0, 15), 0, 15), ((240, 255), 240, 255)]
