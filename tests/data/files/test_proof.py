"""What is told of an item before any image is made is what making the image would raise."""

import os

import nibabel
import numpy as np
import pytest
from PIL import Image

from medldr.data.files import proof
from medldr.data.files.config import CropConfig, ScanConfig
from medldr.data.files.facts import Facts
from medldr.data.files.image import make_image
from medldr.data.files.proof import prove_items, unfit
from medldr.data.files.read import read_scan
from medldr.data.files.scan import ScanError, Source


class Keys(ScanConfig):
    name: str = "scans"


def _volume(path, shape=(6, 5, 4), marked=None):
    values = np.random.default_rng(0).normal(100, 30, shape).astype(np.float32)
    if marked is not None:
        values = np.zeros(shape, np.uint8)
        values[marked] = 1
    nibabel.save(nibabel.Nifti1Image(values, np.diag([1.0, 1, 2, 1])), path)
    return Source(path)


def _picture(path, top=4000):
    values = np.linspace(0, top, 48).reshape(6, 8).astype(np.uint16)
    Image.fromarray(values).save(path)
    return Source(path)


def _point(*numbers, **keys):
    axes = ("x", "y", "z")[: len(numbers)]
    crop = CropConfig(point=axes, size=(2,) * len(axes), **keys)
    return {"point": numbers}, {"crop": crop}


SITUATIONS = {
    "volume": ("nii", {}, {}),
    "channels": ("nii", {}, {"channels": 2}),
    "no window": ("nii", {}, {"window": "file"}),
    "a volume among pictures": ("nii", {}, {"dims": 2}),
    "its middle slice": ("nii", {}, {"dims": 2, "frame": "middle"}),
    "a picture among volumes": ("png", {}, {"dims": 3}),
    "picture": ("png", {}, {"dims": 2}),
    "depth": ("png", {}, {"dims": 2, "bit_depth": 8}),
    "enough depth": ("png", {}, {"dims": 2, "bit_depth": 12}),
    "no spacing": ("png", {}, {"dims": 2, "spacing": 1.0, "size": 8}),
    "point": ("nii", *_point(2, 2, 2)),
    "point in mm": ("nii", *_point(2, 2, 6, point_in="ras_mm")),
    "point at the far edge": ("nii", *_point(2, 2, 7, point_in="ras_mm")),
    "point outside": ("nii", *_point(2, 2, 7)),
    "point of two numbers": ("nii", *_point(2, 2)),
    "point of a picture in mm": ("png", *_point(2, 2, unit="pixel", point_in="ras_mm")),
    "point of a picture, size in mm": ("png", *_point(2, 2)),
    "point of a picture": ("png", *_point(7, 2, unit="pixel")),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_reason_is_that_of_making_the_image(tmp_path, rules, name):
    kind, own, keys = SITUATIONS[name]
    place = tmp_path / f"a.{kind}"
    read = _volume(place) if kind == "nii" else _picture(place)
    source = Source(read.path, **own)
    dims = keys.get("dims", 3 if kind == "nii" else 2)
    config = Keys(**{"dims": dims, **keys})
    told = unfit(Facts.of(read_scan(source, dims)), config, dims, source)
    asked = {"dims": dims, "channels": 1, "bit_depth": 12, "frame": "error", **keys}
    for key in ("spacing", "size"):
        asked[key] = (asked[key],) * dims if key in keys else None
    if name == "channels":  # which only the whole set decides
        assert told == "it has 1 channels, but data.channels asks for 2"
    elif told:
        with pytest.raises(ScanError) as raised:
            make_image(source, rules(**asked))
        assert told == str(raised.value)
    else:
        assert make_image(source, rules(**asked)).size


@pytest.mark.parametrize(
    ("shape", "marked", "said"),
    [
        ((6, 5, 4), (2, 2, 2), ""),
        ((6, 5, 4), slice(0, 0), "marks nothing"),
        ((6, 5, 3), (2, 2, 2), "needs the grid"),
    ],
)
def test_a_mask_is_judged_by_its_facts(tmp_path, rules, shape, marked, said):
    mask = _volume(tmp_path / "m.nii", shape, marked)
    source = Source(_volume(tmp_path / "a.nii").path, mask=mask)
    crop = CropConfig(mask="m", margin=2)
    facts = [Facts.of(read_scan(one)) for one in (source, mask)]
    told = unfit(facts[0], Keys(crop=crop, size=3), 3, source, facts[1])
    assert said in told
    assert bool(told) == bool(said)
    if said:
        with pytest.raises(ScanError, match=said):
            make_image(source, rules(crop=crop, size=(3, 3, 3)))


LEFT_TO_RIGHT, RIGHT_TO_LEFT = np.diag([1.0, 1, 1, 1]), np.diag([-1.0, 1, 1, 1])


def _nifti(path, values, affine, code=1):
    nibabel.Nifti1Image(values, affine if code else None).to_filename(path)
    return path


@pytest.mark.parametrize(
    ("affine", "code", "words"),
    [
        (RIGHT_TO_LEFT, 1, ""),
        (LEFT_TO_RIGHT, 1, "its mask lies up to 7 mm beside it, or is turned"),
        (RIGHT_TO_LEFT, 0, "of it and its mask only one says how the patient lay"),
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
