"""A heat map lies on its scan in a viewer, whatever became of the scan for the network."""

import nibabel
import numpy as np
import pytest

from medldr.data.files.rules import SCAN, Rules
from medldr.data.files.scan import Source
from medldr.data.reading.new_item import ItemReader
from medldr.prediction.heat_volume import write_heat_volume
from medldr.prediction.items import Item

RULES = {
    "dims": 3, "channels": 1, "size": None, "spacing": None, "pad": False, "window": (0, 100),
    "percentiles": (0.5, 99.5), "bit_depth": 16, "frame": "error", "ground": "white",
    "exif": True, "crop": None, "eight_bit": False,
}  # fmt: skip
AFFINE = np.array([[0, 0, 2.0, 5], [-1, 0, 0, 30], [0, 1, 0, -4], [0, 0, 0, 1]])
"""Of a scan whose axes are neither in the order of RAS+ nor all in its directions."""
AT = (7, 9, 5)
CROP = {"point": ("x", "y", "z"), "size": (12.0, 12.0, 12.0), "point_in": "ras_mm"}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"size": (24, 24, 24), "pad": True},
        {"size": (12, 12, 12), "spacing": (2.0, 2.0, 2.0), "pad": True},
        {"size": (20, 20, 20)},
        {"size": (12, 12, 12), "crop": CROP},
    ],
)
def test_the_strongest_heat_is_at_the_same_place_of_the_patient(tmp_path, changed):
    values = np.zeros((16, 18, 10), np.float32)
    values[AT] = 100
    nibabel.save(nibabel.Nifti1Image(values, AFFINE), tmp_path / "scan.nii.gz")
    place = AFFINE @ (*AT, 1)
    reading = {"kind": SCAN, **Rules.from_dict({**RULES, **changed}).as_dict()}
    reader = ItemReader(reading, changed.get("size", (10, 16, 18)), np.dtype(np.float32))
    point = tuple(place[:3].tolist()) if "crop" in changed else None
    item = Item("scan", Source(tmp_path / "scan.nii.gz", point=point))
    read = reader.read(item.source)
    write_heat_volume(tmp_path / "0001.nii.gz", read.image[0], item, read, reader)
    heat = nibabel.load(tmp_path / "0001.nii.gz")
    assert heat.affine[:3, :3].tolist() == np.diag([2.0, 1, 1]).tolist()
    if "crop" not in changed:
        assert heat.shape == (10, 16, 18)
    found = np.unravel_index(heat.get_fdata().argmax(), heat.shape)
    assert np.abs(heat.affine @ (*found, 1) - place).max() <= 1  # within a voxel


def test_pictures_have_none(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 4), np.float32))
    reader = ItemReader({"kind": SCAN, **RULES, "dims": 2}, (4, 4), np.dtype(np.float32))
    item = Item("a", Source(tmp_path / "a.npy"))
    read = reader.read(item.source)
    write_heat_volume(tmp_path / "0001.nii.gz", read.image[0], item, read, reader)
    assert not (tmp_path / "0001.nii.gz").exists()
