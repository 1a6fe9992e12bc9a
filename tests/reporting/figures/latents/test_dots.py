"""Marks with intervals in panels: what is drawn, said, and left out."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.figures.for_paper import for_paper
from medldr.reporting.figures.latents.dots import GUESSING, Panel, dots_figure

ACCURACY = metric_facts("accuracy")


def panel(title="run", rows=("a", "b"), **views):
    views = views or {"original": Estimate(0.5, low=0.4, high=0.6)}
    return Panel(title, dict.fromkeys(rows, views), {row: {GUESSING: 0.25} for row in rows})


def made(panels):
    return dots_figure("f", panels, ACCURACY, title="t", caption="c")


def test_numbers_are_in_words_and_under_the_pointer():
    drawing = made([panel(rows=["a"])])
    assert not drawing.error
    assert drawing.alt == "run: a, original 50.0 (40.0 to 60.0)."
    assert "<title>a, original: 50.0 (40.0 to 60.0)</title>" in drawing.svg
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_a_number_without_an_interval_is_a_mark_alone():
    assert made([panel(rows=["a"], degraded=Estimate(0.5))]).alt == "run: a, degraded 50.0."


def test_undefined_numbers_are_left_out_and_nothing_is_no_figure():
    both = panel(rows=["a"], original=Estimate(0.5), degraded=Estimate(reason="none"))
    assert made([both]).alt == "run: a, original 50.0."
    assert ">degraded</text>" not in made([both]).svg
    assert made([panel(degraded=Estimate(reason="none"))]) is None


def test_the_legend_has_the_views_and_lines_that_are_drawn():
    svg = made([panel(original=Estimate(0.5), restored=Estimate(0.4))]).svg
    assert ">original</text>" in svg
    assert ">restored</text>" in svg
    assert ">guessing</text>" in svg
    assert ">class alone</text>" not in svg


def test_panels_of_the_same_rows_name_them_once():
    names = made([panel("one"), panel("two")]).svg
    other = made([panel("one"), panel("two", rows=("a", "c"))]).svg
    assert names.count(">b</text>") == 1
    assert (other.count(">a</text>"), other.count(">c</text>")) == (2, 1)


@pytest.mark.parametrize("number", [1, 2, 4, 7])
def test_any_number_of_panels_is_drawn_in_lines_of_three(number):
    drawing = made([panel(f"run {i}") for i in range(number)])
    assert not drawing.error
    assert all(f">run {i}</text>" in drawing.svg for i in range(number))
    columns = {1: 1, 2: 2, 4: 2, 7: 3}[number]
    assert drawing.size[0] == pytest.approx(4.9 if number == 1 else 1.5 + 2.5 * columns)


def test_panels_may_have_the_same_axis():
    from matplotlib.figure import Figure

    panels = [panel("one"), panel("two", original=Estimate(0.9, low=0.8, high=1.0))]
    for same in (True, False):
        drawing = dots_figure("f", panels, ACCURACY, title="t", caption="c", same=same)
        figure = Figure(layout="constrained")
        drawing.paint(figure)
        one, two = (axes.get_xlim() for axes in figure.axes)
        assert (one == two) is same


def test_dollars_and_tags_in_names_are_text():
    drawing = made([panel("a$b$ <x>", rows=["m$n$"])])
    assert not drawing.error
    assert "m$n$" in drawing.svg
