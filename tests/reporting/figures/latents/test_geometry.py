"""Bars of alignment and uniformity."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.figures.latents.geometry import latent_metrics

FOUND = {
    "ERM": (Estimate(0.5, low=0.4, high=0.6), Estimate(-1.5, low=-1.7, high=-1.4)),
    "LatentDR (SA)": (Estimate(0.25, low=0.2, high=0.3), Estimate(-2.5, low=-2.6, high=-2.4)),
}


@pytest.fixture
def painted():
    """A function that paints a drawing and gives its two panels."""
    from matplotlib.figure import Figure

    def paint(drawing):
        figure = Figure(figsize=drawing.size)
        drawing.paint(figure)
        return figure.axes

    return paint


def bars(axes):
    """Widths of the coloured bars, each above a white one."""
    return [bar.get_width() for bar in axes.patches][1::2]


def test_bars_are_as_long_as_the_numbers(painted):
    drawing = latent_metrics(FOUND)
    left, right = painted(drawing)
    assert bars(left) == [0.5, 0.25]
    assert bars(right) == [-1.5, -2.5]
    assert [label.get_text() for label in left.get_yticklabels()] == list(FOUND)
    whiskers = [line.get_xdata().tolist() for line in left.lines[:2]]
    assert whiskers == [[0.4, 0.6], [0.2, 0.3]]
    for axes in (left, right):
        ends = axes.get_xlim()
        assert 0 in ends
        assert all(min(ends) <= x <= max(ends) for line in axes.lines for x in line.get_xdata())
    assert "lower: closer together" in left.get_xlabel()
    assert "lower: more evenly spread" in right.get_xlabel()


def test_unknown_numbers_have_no_bar(painted):
    found = {**FOUND, "CORAL": (Estimate(0.7), Estimate(reason="why")),
             "Mixup": (Estimate(reason="why"), Estimate(reason="why"))}  # fmt: skip
    drawing = latent_metrics(found)
    left, right = painted(drawing)
    assert bars(left) == [0.5, 0.25, 0.7]
    assert bars(right) == [-1.5, -2.5]
    assert "n/a" in [text.get_text() for text in right.texts]
    assert "CORAL n/a" in drawing.alt
    assert "Mixup" not in drawing.alt
    assert latent_metrics({"ERM": (Estimate(), Estimate())}) is None
    assert latent_metrics({}) is None


def test_one_side_may_be_unknown():
    several_labels = {"ERM": (Estimate(reason="why"), Estimate(-1.0, low=-2.0, high=-0.5))}
    assert latent_metrics(several_labels).error == ""
    equal = {"ERM": (Estimate(0.0), Estimate(0.0))}
    assert latent_metrics(equal).error == ""


def test_means_and_single_runs_are_told_apart():
    single = FOUND["LatentDR (SA)"]
    mean = (Estimate(0.5, low=0.4, high=0.6, n=3), Estimate(-1.5, low=-1.7, high=-1.4, n=3))
    mixed = latent_metrics({"ERM": mean, "LatentDR (SA)": single}).caption
    assert mixed.endswith("of means over seeds (ERM) or of single runs (LatentDR (SA)).")
    assert latent_metrics({"ERM": mean}).caption.endswith("95% CIs of means over seeds.")
    assert latent_metrics(FOUND).caption.endswith("Lines are 95% CIs.")
