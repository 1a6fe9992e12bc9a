"""The page of a data set: its verdict, and what it shows of counts and rare classes."""

import numpy as np
import pytest

from medldr.data.image_table import ImageTable
from medldr.data.inspection import Inspection
from medldr.evaluation.inputs.simple_controls import Control
from medldr.folders.scores import Number
from medldr.reporting.document import Figures
from medldr.reporting.pages.data_check import data_check_page
from medldr.reporting.writers.html import html_page


@pytest.fixture
def page():
    """Function that makes the page of training images of each class, and one test image of each."""

    def make(counts, plans=("",), wrong=(), look=(), controls=()):
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
        found = Inspection(table, dict.fromkeys(plans, of), wrong, look, ("Read twice.",))
        return data_check_page(found, controls, ())

    return make


def control(name, value, low):
    return Control(name, " with a held out", 9, {"auc": Number(value=value, low=low, high=1.0)})


@pytest.mark.parametrize(
    ("found", "word", "tone", "said"),
    [
        ({}, "fit to train", "good", "93 images were read; nothing is wrong or unusual."),
        ({"look": ("A is dark",)}, "look first", "open", "A is dark."),
        ({"wrong": ("A is B",), "look": ("C",)}, "no", "bad", "1 thing would make numbers"),
        ({"controls": [control("recording", 0.9, 0.6)]}, "look first", "open",
         "Recording alone predicts the class: AUC 0.900 (95% CI 0.600 to 1.000) on the test split "
         "with a held out"),
        ({"controls": [control("brightness", 0.7, 0.6)]}, "look first", "open", "AUC 0.700"),
        ({"controls": [control("brightness", 0.9, 0.5)]}, "fit to train", "good", ""),
        ({"controls": [control("size", 0.9, 0.8)]}, "fit to train", "good", ""),
    ],
)  # fmt: skip
def test_the_verdict_is_first_and_has_its_reasons(page, found, word, tone, said):
    document = page([30, 30, 30], **found)
    assert (document.verdict.word, document.verdict.tone) == (word, tone)
    assert said in document.verdict.text
    html = html_page(document)
    assert html.index(f">{word.capitalize()}.<") < html.index("Images of each split")
    assert html.index("Read twice.") > html.index("<summary><h2>How the images were read")


def test_many_findings_are_listed_below_the_verdict(page):
    document = page([30, 30, 30], look=tuple(f"thing {n}" for n in range(5)))
    assert document.verdict.more == ["thing 0.", "thing 1.", "thing 2.", "And 2 more."]
    assert document.section("findings").title == "All 5 findings"
    assert "thing 4" in html_page(document)


def test_training_images_of_each_class_are_shown(page):
    document = page([120, 60, 7])
    section = document.section("sizes")
    (figures,) = section.of(Figures)
    (drawing,) = figures.drawings
    assert drawing.alt == "3 classes from kind 0 (120 training images) to kind 2 (7)."
    assert "Frequent and rare classes" in html_page(document)


@pytest.mark.parametrize("counts", [[30, 30, 30], [30, 20, 16], [90, 4]])
def test_classes_of_like_sizes_and_two_classes_are_not(page, counts):
    assert page(counts).section("sizes") is None


def test_each_division_has_its_figure(page):
    section = page([50, 9, 4], plans=(", imbalance factor 5", ", imbalance factor 9")).section(
        "sizes"
    )
    assert [d.title for d in section.of(Figures)[0].drawings] == [
        "Training images of each class, imbalance factor 5",
        "Training images of each class, imbalance factor 9",
    ]


def test_many_classes_stand_below_each_other(page):
    few, many = page([5] * 4), page([5] * 20)
    assert few.section("splits").tables[0].columns == [
        "Split", "Images", "kind 0", "kind 1", "kind 2", "kind 3"
    ]  # fmt: skip
    table = many.section("splits").tables[0]
    assert table.columns == ["Class", "Training", "Test"]
    found = {row.heading: [cell.content for cell in row.cells] for row in table.rows}
    assert found["kind 19"] == [5, 1]
    assert found["Images"] == [100, 20]
