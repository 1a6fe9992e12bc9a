"""Rules of a data set, by what differs from the usual ones."""

import sys
from pathlib import Path

import pytest

from medldr.data.files.rules import Rules

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
