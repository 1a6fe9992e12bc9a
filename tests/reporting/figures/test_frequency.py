"""Recall of each class against its training images."""

import pytest

from medldr.folders.evaluation_parts import ShotsRecord
from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.sections.run.drawn import frequency_figure


def drawn(recalls, counts, **ends):
    classes = {
        name: {"n": 10, "metrics": {"recall": {"value": value, **ends}}}
        for name, value in recalls.items()
    }
    bucket = {
        name: "many" if n > 100 else "few" if n < 20 else "medium" for name, n in counts.items()
    }
    shots = ShotsRecord(many=100, few=20, counts=counts, buckets=bucket)
    return frequency_figure(SplitRecord(classes=classes), shots)


def test_classes_are_named_from_the_most_frequent_to_the_rarest():
    drawing = drawn({"rare": 0.1, "common": 0.9}, {"rare": 7, "common": 1200}, low=0.05, high=0.95)
    assert not drawing.error
    assert drawing.alt == (
        "common: 1,200 training images, recall 90.0 (5.0 to 95.0)%; "
        "rare: 7 training images, recall 10.0 (5.0 to 95.0)%."
    )
    assert "many" in drawing.svg
    assert "few" in drawing.svg
    assert "medium" not in drawing.svg


def test_many_classes_are_summarised_by_the_ends():
    names = [f"class {k}" for k in range(40)]
    drawing = drawn(dict.fromkeys(names, 0.5), {name: 500 - 12 * k for k, name in enumerate(names)})
    assert not drawing.error
    assert drawing.alt.startswith("The three most frequent and the three rarest classes: class 0: ")
    assert drawing.alt.count(";") == 5
    assert "CIs" not in drawing.caption


@pytest.mark.parametrize("recalls", [{}, {"a": None}])
def test_nothing_to_draw_is_no_figure(recalls):
    assert drawn(recalls, {"a": 3}) is None
