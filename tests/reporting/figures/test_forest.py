"""Values with intervals, one below the other."""

from medldr.reporting.figures.forest import Whisker, forest_figure


def test_nothing_to_draw_is_no_figure():
    assert forest_figure("f", [], title="", caption="", xlabel="") is None


def test_an_end_at_zero_is_an_end():
    drawing = forest_figure("f", [Whisker("a", 0.25, 0.0, 0.5)], title="", caption="", xlabel="x")
    assert drawing.alt == "x: a 0.25 (0 to 0.5)."
    assert "<title>a 0.25 (0 to 0.5)</title>" in drawing.svg
