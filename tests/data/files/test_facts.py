"""What readers changed or assumed, counted over the files of a data set."""

import numpy as np

from medldr.data.files.facts import Facts, warning_notes
from medldr.data.files.scan import Scan


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
