"""Rules of a data set, by what differs from the usual ones."""

import sys
from pathlib import Path

import pydicom
import pytest

from medldr.data.files.dicom import read_dicom_file
from medldr.data.files.rules import Rules
from medldr.data.files.scan import ScanError

HERE = str(Path(__file__).parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)  # where `dicom_files` is


@pytest.fixture
def rules():
    """Make rules: ``rules(dims=2, size=(8, 8))``."""

    def make(**changed):
        values = {
            "dims": 3,
            "channels": 1,
            "size": None,
            "spacing": None,
            "pad": False,
            "window": "auto",
            "percentiles": (0.5, 99.5),
            "bit_depth": 16,
            "frame": "error",
            "ground": "white",
            "exif": True,
            "crop": None,
            "eight_bit": False,
        }
        return Rules(**{**values, **changed})

    return make


@pytest.fixture
def read(tmp_path):
    """Write a DICOM file, read it, and see that nothing of the patient is told."""

    import dicom_files as files

    def run(*args, **tags):
        dataset = args[0] if isinstance(args[0], pydicom.Dataset) else files.dicom(*args, **tags)
        path = files.save(dataset, tmp_path / "of_a_patient.dcm")
        try:
            scan = read_dicom_file(path)
        except ScanError as error:
            told = str(error)
            raise
        else:
            told = " ".join(scan.warnings)
        finally:
            for secret in (files.NAME, files.IDENTITY, files.ROOT, "of_a_patient"):
                assert secret not in told
        return scan

    return run
