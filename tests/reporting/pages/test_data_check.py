"""The page of a data set: classes with few training images are shown where there are any."""

import numpy as np
import pytest

from medldr.data.image_table import ImageTable
from medldr.data.inspection import Inspection
from medldr.reporting.document import Figures, Paragraph
from medldr.reporting.pages.data_check import data_check_page
from medldr.reporting.writers.html import html_page


@pytest.fixture
def page():
    """Function that makes the page of training images of each class, and one test image of each."""

    def make(counts, plans=("",)):
        classes = len(counts)
        labels = np.r_[np.repeat(np.arange(classes), counts), np.arange(classes)]
        rows, blank = len(labels), np.full(len(labels), "")
        table = ImageTable(
            name="toy",
            task="multi-class",
            class_names=tuple(f"kind {k}" for k in range(classes)),
            images=np.random.default_rng(0).integers(0, 256, (rows, 1, 4, 4), dtype=np.uint8),
            labels=labels,
            ids=np.array([f"item_{n}" for n in range(rows)]),
            splits=np.array(["train"] * (rows - classes) + ["test"] * classes),
            domains=blank,
            groups=blank,
        )
        of = {
            "train": np.flatnonzero(table.splits == "train"),
            "test": np.flatnonzero(table.splits == "test"),
        }
        return data_check_page(Inspection(table, dict.fromkeys(plans, of), (), ()), [], ())

    return make


def test_training_images_of_each_class_are_shown_with_their_group(page):
    document = page([120, 60, 7])
    section = document.section("sizes")
    (said,) = [block.text for block in section.of(Paragraph) if block.style == ""]
    assert said == (
        "1 class has many training images (more than 100), 1 class has a medium number, 1 class "
        "has few (fewer than 20); the largest class has 120 and the smallest 7."
    )
    (table,) = section.tables
    found = [(row.heading, row.cells[0].content, row.cells[0].detail) for row in table.rows]
    assert found == [("kind 0", 120, "many"), ("kind 1", 60, "medium"), ("kind 2", 7, "few")]
    (figures,) = section.of(Figures)
    assert len(figures.drawings) == 1
    assert "Frequent and rare classes" in html_page(document)


@pytest.mark.parametrize("counts", [[30, 30, 30], [30, 20, 16], [90, 4]])
def test_classes_of_like_sizes_and_two_classes_are_not(page, counts):
    assert page(counts).section("sizes") is None


def test_each_division_has_its_column_and_its_figure(page):
    section = page([50, 9, 4], plans=(", imbalance factor 5", ", imbalance factor 9")).section(
        "sizes"
    )
    (table,) = section.tables
    assert table.columns == ["Class", "imbalance factor 5", "imbalance factor 9"]
    assert [d.title for d in section.of(Figures)[0].drawings] == [
        "Training images of each class, imbalance factor 5",
        "Training images of each class, imbalance factor 9",
    ]


def test_many_classes_stand_below_each_other(page):
    few, many = page([5] * 4), page([5] * 20)
    assert few.section("counts").tables[1].columns == [
        "Split", "kind 0", "kind 1", "kind 2", "kind 3", "Images"
    ]  # fmt: skip
    table = many.section("counts").tables[1]
    assert table.columns == ["Class", "train", "test"]
    found = {row.heading: [cell.content for cell in row.cells] for row in table.rows}
    assert found["kind 19"] == [5, 1]
    assert found["Images"] == [100, 20]
