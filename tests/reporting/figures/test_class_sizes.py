"""Training images of each class as bars."""

import pytest

from medldr.evaluation.metrics.items import Shots
from medldr.reporting.figures.bars import class_sizes_figure


def drawn(counts, **options):
    return class_sizes_figure(counts, Shots(()), **options)


def test_bars_stand_in_the_order_of_their_height_with_their_names():
    drawing = drawn({"rare": 7, "common": 1200, "between": 60})
    assert not drawing.error
    assert drawing.alt == "3 classes from common (1,200 training images) to rare (7)."
    order = [drawing.svg.index(f">{name}<") for name in ("common", "between", "rare")]
    assert order == sorted(order)
    for group in ("many (1)", "medium (1)", "few (1)"):
        assert group in drawing.svg
    assert "training images (logarithmic)" in drawing.svg


def test_a_hundred_classes_have_no_names_below():
    drawing = drawn({f"thing {n}": 5 * n for n in range(100)}, name="sizes-1", of="factor 100")
    assert not drawing.error
    assert "classes, the largest first" in drawing.svg
    assert ">thing 50<" not in drawing.svg
    assert drawing.title == "Training images of each class, factor 100"
    assert drawing.alt.endswith("to thing 0 (0).")


@pytest.mark.parametrize("counts", [{}, {"a": 0, "b": 0}])
def test_nothing_to_draw_is_no_figure(counts):
    assert drawn(counts) is None
