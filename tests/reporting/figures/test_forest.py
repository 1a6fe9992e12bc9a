"""Values with intervals, one below the other."""

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.figures.forest import Whisker, forest_figure


def drawn(*rows, metric="accuracy", **more):
    return forest_figure("f", metric, rows, title="", caption="", **more)


def test_nothing_to_draw_is_no_figure():
    assert drawn() is None
    assert drawn(Whisker("a heading", Estimate())) is None


def test_an_end_at_zero_is_an_end():
    drawing = drawn(Whisker("a", Estimate(0.25, low=0.0, high=0.5)))
    assert drawing.alt == "Accuracy (%): a 25.0 (0.0 to 50.0)."
    assert "<title>a 25.0 (0.0 to 50.0)</title>" in drawing.svg


def test_headings_diamonds_and_bare_intervals_are_told_in_words():
    rows = (
        Whisker("LatentDR", Estimate()),
        Whisker("a", Estimate(0.1, low=-0.1, high=0.3)),
        Whisker("Average", Estimate(0.05, low=0.0, high=0.1), "diamond"),
        Whisker("A new one", Estimate(low=-0.2, high=0.4)),
    )
    drawing = drawn(*rows, metric="auc", reference="ERM")
    assert drawing.alt == (
        "AUC minus that of ERM: a +0.100 (−0.100 to +0.300); Average +0.050 (+0.000 to +0.100); "
        "A new one −0.200 to +0.400."
    )
    assert "LatentDR" in drawing.svg
