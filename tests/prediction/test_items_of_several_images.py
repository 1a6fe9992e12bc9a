"""How items of several images are named: tables, nnU-Net's names, and one item by itself."""

import csv

import numpy as np
import pytest

from medldr.data.listing.image_names import cases_of
from medldr.errors import InputError
from medldr.prediction.items import find_items, item_of_images

IMAGES = ("t2w", "adc")


@pytest.fixture
def files(tmp_path):
    for name in ("a_0000", "a_0001", "b_0000", "x_t2", "x_adc"):
        np.save(tmp_path / f"{name}.npy", np.zeros((4, 4, 4), np.float32))
    return tmp_path


def find(files, *names, **keys):
    return find_items([files / name for name in names], 3, images=IMAGES, **keys)


def shown(items):
    return [
        [None if one is None else one.path.stem for one in item.source.images] for item in items
    ]


def test_a_table_has_a_column_for_each_image_and_may_have_gaps(files):
    with (files / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["t2w", "adc", "who"], ["x_t2.npy", "x_adc.npy", "p1"], ["b_0000.npy", "", "p2"]]
        )
    items = find(files, "t.csv", group="who")
    assert shown(items) == [["x_t2", "x_adc"], ["b_0000", None]]
    assert [item.group for item in items] == ["p1", "p2"]
    assert shown(find(files, "t.csv", column="adc,t2w"))[0] == ["x_adc", "x_t2"]
    with pytest.raises(InputError, match="no column 'dwi'"):
        find(files, "t.csv", column="t2w,dwi")


def test_nnunets_names_say_which_image_is_which_in_a_folder_and_by_name(files):
    for name in ("x_t2.npy", "x_adc.npy"):
        (files / name).unlink()
    expected = [["a_0000", "a_0001"], ["b_0000", None]]
    assert shown(find(files, ".")) == expected
    assert shown(find(files, "a_0001.npy", "a_0000.npy", "b_0000.npy")) == expected


def test_paths_alone_do_not_say_what_belongs_together(files):
    with pytest.raises(InputError) as refused:
        find(files, "x_t2.npy", "x_adc.npy")
    for word in ("2 images per item (t2w, adc)", "table", "case_0000", "tuple"):
        assert word in str(refused.value)


def test_an_image_that_is_not_there_is_said_by_name(files):
    item = item_of_images(0, (files / "x_t2.npy", files / "gone.npy"), None)
    assert "gone.npy: there is no such file" in item.reason


def test_in_python_an_item_is_a_tuple_of_paths_or_of_arrays(files):
    paths = item_of_images(0, (files / "x_t2.npy", None), None)
    assert shown([paths]) == [["x_t2", None]]
    arrays, spacing = item_of_images(1, [np.ones((4, 4)), None], (1.0, 1.0)).array
    assert (arrays[0].shape, arrays[1], spacing) == ((4, 4), None, (1.0, 1.0))
    assert "no image" in item_of_images(2, [np.array("text"), np.ones((4, 4))], None).reason
    with pytest.raises(InputError, match="tuple"):
        item_of_images(3, np.ones((4, 4)), None)


def test_numbers_of_four_digits_before_a_scans_ending_are_nnunets():
    assert cases_of(["a_0000.txt", "a_00.npy", "a_0003.nii.gz"]) == {"a": {3: "a_0003.nii.gz"}}
