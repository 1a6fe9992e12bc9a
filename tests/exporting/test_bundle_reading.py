"""A bundle's transforms against medldr's own reading, pixel by pixel."""

from dataclasses import replace

import nibabel
import numpy as np
import pytest
import torch

from medldr.data.files.image import make_image
from medldr.data.files.rgb import OwnRules, decode, decode_own
from medldr.data.files.scan import Source
from medldr.exporting.bundle import inference
from medldr.exporting.bundle_reading import reading_steps

pytestmark = [
    pytest.mark.slow,
    # MONAI says so whenever a reader is made: an optional decoder of DICOM is absent.
    pytest.mark.filterwarnings("ignore:NvImgCodecPydicomReader"),
    # MONAI takes over what Pillow holds, which may not be written to, and copies it afterwards.
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable"),
]


def read_by_monai(record, folder, root):
    """File and stored image of each item, as `inference.json` has them."""
    from monai.bundle import ConfigParser

    config = inference(record, reading_steps(record))
    parser = ConfigParser({**config, "dataset_dir": str(folder), "bundle_root": str(root)})
    for item in parser.get_parsed_content("dataset"):
        image = item["image"].as_tensor()
        assert image.dtype == torch.float32
        yield item["file"], image.numpy()


SCANS = {
    "CT": ("volumes", None, 1, "float32", {"window": "ct"}),
    "two numbers": ("volumes", None, 1, "float32", {"window": (100.0, 2000.0)}),
    "by bits": ("volumes", None, 1, "float32", {"bit_depth": 12}),
    "percentiles": (
        "volumes",
        (24, 14, 18),
        3,
        "uint8",
        {"window": "percentile", "percentiles": (1.0, 99.0)},
    ),
    "spacing": (
        "volumes",
        (16, 16, 16),
        1,
        "float32",
        {"spacing": (1.5, 1.4, 1.6), "pad": True, "bit_depth": 16},
    ),
    "spacing, stretched": ("volumes", (8, 9, 10), 1, "float32", {"spacing": (3.0, 3.0, 3.0)}),
    "pictures as they are": ("pictures", None, 3, "uint8", {}),
    "pictures": ("pictures", (28, 24), 3, "uint8", {"exif": False}),
    "pictures, padded": ("pictures", (28, 45), 1, "uint8", {"pad": True}),
}


@pytest.mark.parametrize("case", SCANS)
def test_scans(tmp_path, request, record_of, rules, case):
    kind, size, channels, dtype, keys = SCANS[case]
    folder = request.getfixturevalue(kind)
    stored = size or ((20, 22, 18) if kind == "volumes" else (40, 31))
    made = replace(rules(stored, channels, dtype, **keys), size=size)
    record = record_of(channels, stored, dtype=dtype, reading={"kind": "scan", **made.as_dict()})
    seen = []
    for file, image in read_by_monai(record, folder, tmp_path):
        expected = make_image(Source(folder / file), made)
        assert image.shape == expected.shape
        if dtype == "uint8" and expected.dtype != np.uint8:
            off = np.abs(image - np.rint(expected * 255))
            assert off.max() <= 1  # a half that is rounded the other way
            assert (off > 0).mean() < 1e-3
        elif dtype == "uint8":
            np.testing.assert_array_equal(image, expected)
        else:
            np.testing.assert_allclose(image, expected, rtol=0, atol=2e-6)
        assert np.ptp(image) > 0.02
        seen.append(file)
    assert len(seen) == {"volumes": 7, "pictures": 4}[kind]


@pytest.mark.parametrize("exif", [True, False])
def test_pictures_of_trees(tmp_path, record_of, pictures, exif):
    own = OwnRules("white", exif, 8)
    record = record_of(3, (28, 24), reading={"kind": "own picture", **own._asdict()})
    for file, image in read_by_monai(record, pictures, tmp_path):
        np.testing.assert_array_equal(image, decode_own(pictures / file, (28, 24), own))
    record = record_of(3, (28, 24), reading={"kind": "picture"})
    for file, image in read_by_monai(record, pictures, tmp_path):
        np.testing.assert_array_equal(image, decode(pictures / file, (28, 24), resize=True))


def test_a_small_part_before_background_does_not_vanish(tmp_path, record_of, rules):
    values = np.zeros((12, 12, 12), np.int16)
    values[4:6, 4:6, 4] = 800
    values[7, 7, 7] = 400
    nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), tmp_path / "speck.nii")
    made = replace(rules((12, 12, 12), 1, "float32", window="percentile"), size=None)
    reading = {"kind": "scan", **made.as_dict()}
    record = record_of(1, (12, 12, 12), dtype="float32", reading=reading)
    ((file, image),) = read_by_monai(record, tmp_path, tmp_path)
    expected = make_image(Source(tmp_path / file), made)
    assert expected.max() == 1
    np.testing.assert_allclose(image, expected, rtol=0, atol=2e-6)
