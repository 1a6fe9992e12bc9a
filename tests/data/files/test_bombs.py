"""Small files that would fill the memory are refused before they are unpacked."""

import gzip

import nibabel
import numpy as np
import pytest
import SimpleITK
from dicom_files import dicom, save
from pydicom.uid import DeflatedExplicitVRLittleEndian, RLELossless

from medldr.data.files import scan
from medldr.data.files.nifti import read_nifti
from medldr.data.files.read import read_scan
from medldr.data.files.scan import ScanError, Source
from medldr.datasets._medmnist.npz import NpzFile
from medldr.errors import InputError

EMPTY = np.zeros((64, 64, 64), np.int16)
REFUSED = r"MiB would be \d+ MiB unpacked"


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(scan, "MOST_UNPACKED", 1000)


def _nifti(path):
    nibabel.save(nibabel.Nifti1Image(EMPTY, np.eye(4)), path)


def _itk(path):
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(EMPTY), str(path), useCompression=True)


def _npz(path):
    np.savez_compressed(path, a=EMPTY)


def _deflated(path):
    save(dicom(EMPTY.reshape(512, 512), syntax=DeflatedExplicitVRLittleEndian), path)


def _run_lengths(path):
    made = dicom(EMPTY.reshape(512, 512).astype(np.uint16))
    made.compress(RLELossless)
    save(made, path)


KINDS = {
    "a.nii.gz": _nifti,
    "a.mgz": lambda path: nibabel.save(nibabel.MGHImage(EMPTY, np.eye(4)), path),
    "a.mha": _itk,
    "a.nrrd": _itk,
    "a.npz": _npz,
    "a.dcm": _deflated,
    "b.dcm": _run_lengths,
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("most", [1000, 512 << 20])
def test_what_fills_the_memory_is_refused_and_an_empty_scan_is_read(
    tmp_path, monkeypatch, name, most
):
    monkeypatch.setattr(scan, "MOST_UNPACKED", most)
    monkeypatch.setattr(scan, "_MOST_TIMES", 10)
    KINDS[name](tmp_path / name)
    source = Source(tmp_path / name)
    if most > 1000:
        assert not read_scan(source).values.any()
    else:
        with pytest.raises(ScanError, match=REFUSED):
            read_scan(source)


def test_what_follows_the_voxels_of_a_zipped_file_counts(tmp_path, monkeypatch):
    path = tmp_path / "a.nii.gz"
    nibabel.save(nibabel.Nifti1Image(EMPTY[:2], np.eye(4)), path)
    whole = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(whole + b"more"))
    assert read_nifti(path).values.shape == (1, 2, 64, 64)
    path.write_bytes(gzip.compress(whole + bytes(10_000_000)))
    monkeypatch.setattr(scan, "MOST_UNPACKED", 1_000_000)
    with pytest.raises(ScanError, match=REFUSED):
        read_nifti(path)


def test_an_archive_of_a_data_set_is_refused_by_name(tmp_path, small):
    _npz(tmp_path / "a.npz")
    with NpzFile(tmp_path / "a.npz") as archive, pytest.raises(InputError, match=r"a\.npz: a is"):
        archive.header("a")
