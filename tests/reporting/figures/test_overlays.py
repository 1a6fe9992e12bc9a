"""Curves of several methods: every one looks different, and names are unique on a page."""

import pytest

from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.overlays import overlay_figures


@pytest.fixture
def curves():
    rows = [{"epoch": epoch, "step": epoch, "val/auc": 0.5 + epoch / 10} for epoch in range(5)]
    return {f"method {n}": [rows, rows] for n in range(11)}


def test_eleven_methods_are_drawn_in_eleven_ways(curves, monkeypatch):
    drawn = []

    class Axes:
        def plot(self, x, y, *, ls, color, label, **_):
            drawn.append((ls, color, label))

        def set_xlabel(self, text):
            pass

        set_ylabel = set_xlabel

        def get_legend_handles_labels(self):
            return [], []

    class Figure:
        def add_subplot(self):
            return Axes()

    monkeypatch.setattr("medldr.reporting.figures.overlays.time_ticks", lambda _: None)
    monkeypatch.setattr("medldr.reporting.figures.overlays.add_tips", lambda *_: None)
    monkeypatch.setattr(
        "medldr.reporting.figures.drawing._render",
        lambda name, paint, size: paint(Figure()) or name,
    )
    (drawing,) = overlay_figures(curves, looks(curves, "method 0", ["method 3"]), "OCT", 3)
    assert (drawing.name, drawing.title) == ("overlay-val-auc-3", "OCT: Validation AUC")
    assert len(drawn) == 11  # so many runs are shown by one mean line per method
    styles = {(dash, color) for dash, color, label in drawn if label}
    assert len(styles) == 11


def test_many_runs_are_drawn_as_the_mean_of_each_method():
    def run(level):
        return [{"epoch": e, "val/auc": level + e / 100} for e in (1, 2)]

    few = overlay_figures({"erm": [run(0.5), run(0.7)]}, looks(["erm"], "erm"))[0]
    assert "One line per run" in few.caption
    assert "erm ends at 0.520, 0.720" in few.alt
    assert few.svg.count('class="tip"') == 4
    assert "<title>erm, epoch 1: 0.510</title>" in few.svg
    methods = {f"m{i}": [run(0.5), run(0.7)] for i in range(7)}
    many = overlay_figures(methods, looks(methods, "m0"))[0]
    assert "One line per method" in many.caption
    assert "m6 ends at 0.520, 0.720" in many.alt
