"""Boxes around masks and points, by index and in mm; volumes as pictures, which way up."""

import numpy as np
import pytest

from medldr.data.files.config import CropConfig
from medldr.data.files.geometry import around_mask, around_point, as_dims, seen_as
from medldr.data.files.scan import Scan, ScanError

AFFINE = np.array([[2.0, 0, 0, -10], [0, 1.0, 0, 5], [0, 0, 4.0, 100], [0, 0, 0, 1]])


@pytest.fixture
def scan():
    values = np.arange(10 * 12 * 14, dtype=np.float32).reshape(1, 10, 12, 14)
    return Scan(values, "nifti", "float32", spacing=(2.0, 1.0, 4.0), affine=AFFINE)


def _mask(*marked):
    values = np.zeros((1, 10, 12, 14), np.uint8)
    for at in marked:
        values[0][at] = 1
    return Scan(values, "nifti", "uint8")


def test_the_box_holds_everything_that_is_marked(scan):
    crop = CropConfig(mask="lesion")
    found = around_mask(scan, _mask((2, 3, 4), (5, 3, 9)), crop)
    np.testing.assert_array_equal(found.values, scan.values[:, 2:6, 3:4, 4:10])


def test_a_margin_in_mm_is_pixels_of_each_axis_and_ends_at_the_border(scan):
    crop = CropConfig(mask="lesion", margin=4)
    found = around_mask(scan, _mask((5, 1, 6)), crop)
    np.testing.assert_array_equal(found.values, scan.values[:, 3:8, 0:6, 5:8])


def test_the_place_in_the_patient_goes_with_the_part(scan):
    found = around_mask(scan, _mask((5, 6, 7)), CropConfig(mask="lesion"))
    np.testing.assert_allclose(found.affine @ [0, 0, 0, 1], AFFINE @ [5, 6, 7, 1])


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (_mask(), "marks nothing"),
        (Scan(np.ones((1, 3, 3, 3)), "nifti", "u"), "needs the grid of its scan"),
    ],
    ids=["empty", "other grid"],
)
def test_a_mask_that_does_not_fit_is_named(scan, mask, words):
    with pytest.raises(ScanError, match=words):
        around_mask(scan, mask, CropConfig(mask="lesion"))


@pytest.mark.parametrize(
    ("counted", "point"),
    [("index", (4, 5, 6)), ("ras_mm", (-2, 10, 124)), ("lps_mm", (2, -10, 124))],
)
def test_a_point_is_the_same_however_it_is_counted(scan, counted, point):
    crop = CropConfig(point=("x", "y", "z"), point_in=counted, size=(6, 3, 12))
    found = around_point(scan, point, crop)
    np.testing.assert_array_equal(found.values, scan.values[:, 3:6, 4:7, 5:8])


def test_x_is_the_column_of_a_picture():
    picture = Scan(np.arange(200).reshape(1, 10, 20), "picture", "grey")
    crop = CropConfig(point=("x", "y"), size=(5, 3), unit="pixel")
    found = around_point(picture, (12.0, 4.0), crop)
    np.testing.assert_array_equal(found.values, picture.values[:, 3:6, 10:15])


def test_a_point_outside_is_refused(scan):
    crop = CropConfig(point=("x", "y", "z"), size=(6, 3, 12))
    with pytest.raises(ScanError, match="outside"):
        around_point(scan, (4, 5, 60), crop)


def test_a_box_at_the_border_keeps_its_extent_and_its_place(scan):
    crop = CropConfig(point=("x", "y", "z"), size=(6, 3, 12))
    found = around_point(scan, (0, 5, 13), crop)
    assert found.values.shape == (1, 3, 3, 3)
    np.testing.assert_array_equal(found.values[:, 1:, :, :2], scan.values[:, :2, 4:7, 12:])
    assert set(found.values[:, 0].ravel()) == {scan.values.min()}
    np.testing.assert_allclose(found.affine @ [1, 1, 1, 1], AFFINE @ [0, 5, 13, 1])


def test_mm_need_a_spacing():
    picture = Scan(np.ones((1, 9, 9)), "picture", "grey")
    with pytest.raises(ScanError, match=r"crop\.unit=pixel"):
        around_point(picture, (4, 4), CropConfig(point=("x", "y"), size=(3, 3)))


@pytest.mark.parametrize(
    "keys",
    [{}, {"mask": "m", "point": ("x",)}, {"point": ("x", "y")}, {"point": ("x",), "size": (1, 2)}],
)
def test_keys_that_contradict_each_other_are_refused(keys):
    with pytest.raises(ValueError, match="crop"):
        CropConfig(**keys)


@pytest.mark.parametrize("column", range(4, 12))
def test_neighbouring_points_have_neighbouring_boxes(column):
    scan = Scan(np.arange(16.0).reshape(1, 1, 16), "picture", "")
    crop = CropConfig(point=("x", "y"), size=(4, 1), unit="pixel")
    found = around_point(scan, (float(column), 0.0), crop).values.ravel()
    assert found.tolist() == [column - 1, column, column + 1, column + 2]


@pytest.mark.parametrize(
    ("shape", "spacing"),
    [
        ((6, 5, 4), None),
        ((6, 5, 4), (1.0, 1.0, 1.0)),
        ((4, 6, 5), (5.0, 1.0, 0.5)),
        ((6, 4, 5), (1.0, 5.0, 1.0)),
        ((6, 5, 1), (1.0, 2.0, 5.0)),
        ((1, 6, 5), (5.0, 1.0, 2.0)),
    ],
)
@pytest.mark.parametrize("frame", ["first", "middle"])
def test_what_is_foretold_is_what_is_made(rules, shape, spacing, frame):
    values = np.arange(np.prod(shape), dtype=np.float32).reshape(1, *shape)
    made = as_dims(Scan(values, "nifti", "", spacing), rules(dims=2, frame=frame))
    foretold = seen_as(shape, spacing, 2)
    assert (made.values.shape[1:], made.spacing) == foretold


def test_a_sagittal_slice_has_the_head_at_the_top_and_the_front_on_the_left(rules):
    values = np.arange(4 * 6 * 5, dtype=np.float32).reshape(1, 4, 6, 5)  # right, front, head
    scan = Scan(values, "nifti", "", (5.0, 1.0, 1.0), affine=np.diag([5.0, 1, 1, 1]))
    made = as_dims(scan, rules(dims=2, frame="middle"))
    assert made.values[0, 0, 0] == values[0, 2, 5, 4]  # the middle of 4; front and head
    assert made.values[0, -1, -1] == values[0, 2, 0, 0]
