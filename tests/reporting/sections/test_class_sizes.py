"""Training images of each class on the page of a run: where classes are unequal, or made so."""

import pytest

from medldr.evaluation.metrics.items import Shots
from medldr.reporting import write_report
from medldr.reporting.sections.class_sizes import size_blocks

SAID = "the largest class has {} and the smallest {}."


def spec(*counts):
    facts = {"task": "multi-class", "class_names": [], "channels": 1, "spatial_size": [28, 28, 28]}
    return {"spec": {**facts, "class_counts": list(counts)}}


def test_a_page_says_how_unequal_its_training_classes_are(run_folder, read):
    found = read(write_report(run_folder(run=spec(500, 60, 5))))
    assert "1 class has many training images (more than 100)" in found.text
    assert SAID.format(500, 5) in found.text
    assert any(label.startswith("3 classes from buckle (500") for label in found.labels)


def test_limits_are_those_that_the_run_was_scored_with():
    counts = {"a": 30, "b": 20, "c": 10}
    words, figures, table, _ = size_blocks({"": counts}, Shots((), many=25, few=15))
    assert words.text.startswith("1 class has many training images (more than 25)")
    assert "few: fewer than 15" in figures.drawings[0].caption
    assert [row.cells[0].detail for row in table.rows] == ["many", "medium", "few"]


@pytest.mark.parametrize("counts", [(30, 25, 16), (30, 30, 30)])
def test_classes_of_like_sizes_are_not_worth_it(counts, run_folder, read):
    found = read(write_report(run_folder(run=spec(*counts))))
    assert "the largest class has" not in found.text


def test_an_imbalance_that_was_asked_for_is_shown_for_two_classes(run_folder, read):
    two = {"task": "binary", "names": ("well", "ill"), "run": spec(90, 9)}
    assert "the largest class has" not in read(write_report(run_folder(**two))).text
    data = {"name": "medmnist", "flag": "breastmnist", "imbalance": {"factor": 10}}
    files = run_folder("longtailed-bbbbbbbb-s0", **two, config={"data": data})
    assert SAID.format(90, 9) in read(write_report(files)).text
