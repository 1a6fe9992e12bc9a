"""Volumes as pictures: which slice, which way up, and how many pixels before it is made."""

import numpy as np
import pytest

from medldr.data.files.facts import Facts, warning_notes
from medldr.data.files.geometry import as_dims, seen_as
from medldr.data.files.scan import Scan


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


def test_warnings_of_one_kind_are_one_note_with_the_range_of_their_numbers():
    pixels = np.zeros((1, 2, 2), np.uint8)

    def facts(*texts):
        return Facts.of(Scan(pixels, "picture", "", warnings=texts))

    found = warning_notes(
        [
            facts("1,200 of 4,096 pixels are clear", "turned upright"),
            facts("7 of 4,096 pixels are clear"),
            facts("lowest one, -1024"),
            facts("lowest one, 1.5e+03"),
            facts("turned upright"),
            facts("turned upright"),
        ]
    )
    assert found == [
        "3 items: turned upright",
        "2 items: 7–1,200 of 4,096 pixels are clear",
        "2 items: lowest one, -1024–1.5e+03",
    ]
