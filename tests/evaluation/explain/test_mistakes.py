"""The most confident mistakes: the right ones, as true pictures, and nothing that names anyone."""

import base64
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from medldr.data.image_table import ImageTable, LazyImages
from medldr.evaluation import predictions_of
from medldr.evaluation.explain.mistakes import confident_mistakes, picture_mistakes, thumbnail


def picture(png):
    return Image.open(io.BytesIO(base64.b64decode(png)))


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal"])
def test_they_are_the_most_confident_ones_at_most_four_of_a_class(make, task):
    table = make(task, 300, k=5, seed=3, decimals=2)
    decided = table.prob.argmax(axis=1)
    if task == "binary":
        decided = (table.prob[:, 1] > 0.5).astype(int)
    order = np.argsort(-table.prob[np.arange(300), decided], kind="stable")
    expected, count = [], {}
    for row in order.tolist():
        truth = int(table.label[row])
        if decided[row] != truth and count.get(truth, 0) < 4 and len(expected) < 12:
            count[truth] = count.get(truth, 0) + 1
            expected.append(row)
    found = confident_mistakes(table)
    assert [wrong.row for wrong in found] == expected
    assert len(found) == (8 if task == "binary" else 12)
    for wrong in found:
        assert wrong.truth == table.class_names[table.label[wrong.row]]
        assert wrong.predicted == table.class_names[decided[wrong.row]]
        assert wrong.confidence == table.prob[wrong.row].max()


def test_of_several_labels_the_most_confident_wrong_one_counts():
    label = [[1, 0, 0], [1, np.nan, 0], [0, 1, 0]]
    prob = [[0.2, 0.9, 0.6], [0.7, 0.99, 0.4], [0.4, 0.3, 0.1]]
    table = predictions_of("multi-label", label, prob, class_names=["lung", "heart", "bone"])
    assert [tuple(wrong) for wrong in confident_mistakes(table)] == [
        (0, "heart: absent", "heart: present", 0.9),
        (2, "heart: present", "heart: absent", 0.7),
    ]


def test_what_is_right_or_not_finite_is_no_mistake():
    prob = [[0.9, 0.1], [np.nan, np.nan], [0.5, 0.5]]
    assert confident_mistakes(predictions_of("binary", [0, 1, 0], prob)) == []


def test_a_small_picture_is_kept_pixel_by_pixel(rng):
    for channels, mode in ((1, "L"), (3, "RGB"), (2, "L")):
        pixels = rng.integers(0, 256, (channels, 20, 28), dtype=np.uint8)
        found = picture(thumbnail(pixels))
        assert (found.mode, found.size, found.info) == (mode, (28, 20), {})
        shown = pixels[0] if mode == "L" else pixels.transpose(1, 2, 0)
        np.testing.assert_array_equal(np.asarray(found), shown)
    assert picture(thumbnail(np.zeros((1, 1, 5), np.uint8))).size == (5, 1)


def test_a_large_picture_is_reduced_in_proportion(rng):
    pixels = rng.integers(0, 256, (3, 200, 400), dtype=np.uint8)
    assert picture(thumbnail(pixels)).size == (96, 48)


def test_of_a_volume_the_middle_slices_stand_side_by_side(rng):
    volume = rng.integers(0, 256, (1, 10, 12, 14), dtype=np.uint8)
    found = np.asarray(picture(thumbnail(volume)))
    assert found.shape == (12, 14 + 2 + 14 + 2 + 12)
    np.testing.assert_array_equal(found[:12, :14], volume[0, 5])
    np.testing.assert_array_equal(found[:10, 16:30], volume[0, :, 6])
    np.testing.assert_array_equal(found[:10, 32:], volume[0, :, :, 7])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class Files(LazyImages):
    """Pictures of one shade, and which were asked for."""

    stamp = "x"

    def __init__(self, count):
        self.shape = (count, 1, 8, 8)
        self.asked = []

    def __getitem__(self, row):
        self.asked.append(row)
        return np.full(self.shape[1:], row, np.uint8)


def test_only_their_pictures_are_read_and_nothing_names_them(make):
    images = Files(100)
    test = make(
        "binary", 40, ids=[f"JANE_{n}.png" for n in range(40)], group=["MRN-7"] * 40,
        domain=["ward"] * 40,
    )  # fmt: skip
    none = np.full(100, "", np.str_)
    table = ImageTable("toy", "binary", ("0", "1"), images, np.zeros(100, np.int64), *[none] * 4)
    rows = {"test": np.arange(60, 100), "val": np.arange(20)}
    found = picture_mistakes({"val": make("binary", 20, split="val"), "test": test}, table, rows)
    expected = confident_mistakes(test)
    assert images.asked == [60 + wrong.row for wrong in expected]
    assert [np.asarray(picture(m.png)).max() for m in found.items] == images.asked
    decided = (test.prob[:, 1] > 0.5).astype(int)
    assert (found.split, found.n, found.wrong) == ("test", 40, (decided != test.label).sum())
    assert {mistake.domain for mistake in found.items} == {"ward"}
    text = json.dumps(found.model_dump())
    assert "JANE" not in text
    assert "MRN" not in text
    assert not found.slices
    assert picture_mistakes({"val": test}, table, rows) is None
    seen = replace(test, split=np.full(40, "id_test"))
    assert picture_mistakes({"id_test": seen}, table, {"id_test": np.arange(40)}).split == "id_test"
