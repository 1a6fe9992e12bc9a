"""Marks with intervals in panels: what is drawn, said, and left out."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.figures.dots import GUESSING, Panel, dots_figure
from medldr.reporting.writers.paper import for_paper

ACCURACY = metric_facts("accuracy")


def panel(title="run", rows=("a", "b"), **views):
    views = views or {"original": Estimate(0.5, low=0.4, high=0.6)}
    levels = {row: {GUESSING: Estimate(0.25)} for row in rows}
    return Panel(title, ACCURACY, dict.fromkeys(rows, views), levels)


def made(panels):
    return dots_figure("f", panels, title="t", caption="c")


def test_numbers_are_in_words_and_under_the_pointer():
    drawing = made([panel(rows=["a"])])
    assert not drawing.error
    assert drawing.alt == "run: a, original 50.0 (40.0 to 60.0)."
    assert "<title>a, original 50.0 (40.0 to 60.0)</title>" in drawing.svg
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_undefined_numbers_are_left_out_and_nothing_is_no_figure():
    both = panel(rows=["a"], original=Estimate(0.5), degraded=Estimate(reason="none"))
    assert made([both]).alt == "run: a, original 50.0."
    assert ">degraded</text>" not in made([both]).svg
    assert made([panel(degraded=Estimate(reason="none"))]) is None


@pytest.mark.parametrize("number", [1, 2, 4, 7])
def test_any_number_of_panels_is_drawn_in_lines_of_three(number):
    drawing = made([panel(f"run {i}") for i in range(number)])
    assert not drawing.error
    assert all(f">run {i}</text>" in drawing.svg for i in range(number))
    columns = {1: 1, 2: 2, 4: 2, 7: 3}[number]
    assert drawing.size[0] == pytest.approx(4.9 if number == 1 else 1.5 + 2.5 * columns)
