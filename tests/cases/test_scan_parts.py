"""Parts of scans, arrays and depths: what does not fit is named before training, all at once."""

import numpy as np
import pytest
from own_scans import built, images_of, nifti, noise, notes_of, refused, table, volumes
from PIL import Image

# Parts of scans


@pytest.fixture
def marked(tmp_path):
    """Eight volumes, each with a mask of the same box."""
    mask = np.zeros((6, 5, 4), np.uint8)
    mask[1:4, 2:4, 1:3] = 1
    rows = [(name, "ab"[n % 2], f"m{n}.nii") for n, name in enumerate(volumes(tmp_path))]
    for row in rows:
        nifti(tmp_path / row[2], mask)
    return table(tmp_path, rows, "path,label,lesion")


CUT = {"crop": {"mask": "lesion"}, "size": [3, 2, 2], "window": (0.0, 200.0)}


def test_a_changed_mask_changes_the_image(tmp_path, marked):
    def box(*at):
        return np.clip(noise(0)[at], 0, 200)

    before = images_of(marked, **CUT)["v0.nii.gz"]
    np.testing.assert_allclose(before[0] * 200, box(np.s_[1:4], np.s_[2:4], np.s_[1:3]), atol=1e-3)
    other = np.zeros((6, 5, 4), np.uint8)
    other[3:6, 0:2, 2:4] = 1
    nifti(tmp_path / "m0.nii", other)
    after = images_of(marked, **CUT)["v0.nii.gz"]
    np.testing.assert_allclose(after[0] * 200, box(np.s_[3:6], np.s_[0:2], np.s_[2:4]), atol=1e-3)


def test_masks_that_do_not_fit_are_all_named_before_training(tmp_path, marked):
    nifti(tmp_path / "m1.nii", np.zeros((6, 5, 4), np.uint8))
    nifti(tmp_path / "m2.nii", np.ones((6, 5, 3), np.uint8))
    (tmp_path / "m3.nii").write_bytes(b"")
    for cache in ("off", "disk"):
        said = refused(marked, cache=cache, **CUT)
        assert "3 of 8 items cannot be used" in said
        assert "v1.nii.gz: its mask marks nothing" in said
        assert "v2.nii.gz: its mask is 6 x 5 x 3, but it is 6 x 5 x 4" in said
        assert "v3.nii.gz: its mask cannot be used: the file is empty" in said
    (tmp_path / "m4.nii").unlink()
    assert "v4.nii.gz: its mask cannot be used: there is no such file" in refused(marked, **CUT)
    kept = built(marked, on_bad_file="skip", **CUT).table
    assert len(kept) == 4
    assert [file.path for file in kept.bad_files] == [f"v{n}.nii.gz" for n in (1, 2, 3, 4)]


def test_points_that_are_nowhere_are_named_before_training(tmp_path):
    rows = [(name, "ab"[n % 2], n, 2, 1) for n, name in enumerate(volumes(tmp_path))]
    file = table(tmp_path, rows, "path,label,x,y,z")
    crop = {"point": ["x", "y", "z"], "size": [3, 3, 3], "unit": "pixel"}
    said = refused(file, crop=crop, size=3, cache="off")
    assert "2 of 8 items" in said
    assert "v7.nii.gz: its point (7, 2, 1) lies outside of its 6 x 5 x 4 pixels" in said
    rows[0] = (*rows[0][:2], "nan", 2, 1)
    file = table(tmp_path, rows, "path,label,x,y,z")
    assert "nan, 2, 1 of v0.nii.gz are not all numbers" in refused(file, crop=crop, size=3)


# Arrays and pictures of real numbers


def test_arrays_and_tiffs_of_real_numbers_are_read_as_they_are(tmp_path):
    colour = noise(1, (6, 5, 3))
    colour[0, 0, 0] = np.nan
    np.save(tmp_path / "colour.npy", colour)
    Image.fromarray(noise(2, (6, 5))).save(tmp_path / "grey.tif")
    file = table(tmp_path, ["colour.npy", "grey.tif"])
    found = images_of(file, window=(0.0, 200.0))
    whole = np.nan_to_num(colour, nan=np.nanmin(colour)).transpose(2, 0, 1)
    np.testing.assert_allclose(found["colour.npy"] * 200, np.clip(whole, 0, 200), atol=1e-3)
    for plane in found["grey.tif"]:
        np.testing.assert_allclose(plane * 200, np.clip(noise(2, (6, 5)), 0, 200), atol=1e-3)
    assert "1 item: 1 of 90 numbers are not finite" in notes_of(file)


def test_a_depth_or_a_window_that_a_file_lacks_is_named_before_training(tmp_path):
    for n in range(4):
        deep = np.full((8, 8), 303 if n == 3 else 200 + n, np.uint16)
        Image.fromarray(deep).save(tmp_path / f"{n}.png")
    file = table(tmp_path, [f"{n}.png" for n in range(4)])
    said = refused(file, bit_depth=8, cache="off")
    assert "1 of 4 items" in said
    assert "3.png: its greatest value 303 needs more than 8 bits" in said
    assert "0.png: it recommends no window" in refused(file, window="file", cache="off")
