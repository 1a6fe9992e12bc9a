"""Curves of several methods: every one looks different, and each is the mean of its runs."""

from medldr.reporting.figures.drawing import looks
from medldr.reporting.sections import training as overlays
from medldr.reporting.sections.training import overlay_figures


def run(level, epochs=2):
    return [{"epoch": e, "val/auc": level + e / 100} for e in range(1, epochs + 1)]


def test_eleven_methods_are_drawn_in_eleven_ways(monkeypatch):
    drawn = []
    monkeypatch.setattr(overlays, "lines_figure", lambda name, curves, **_: drawn.extend(curves))
    curves = {f"method {n}": [run(0.5), run(0.7)] for n in range(11)}
    overlay_figures(curves, looks(curves, "method 0", ["method 3"]), "OCT", 3)
    assert [curve.label for curve in drawn] == list(curves)
    assert len({(curve.style["ls"], curve.style["color"]) for curve in drawn}) == 11


def test_runs_are_drawn_as_their_mean_up_to_the_end_of_the_shortest():
    logs = {"erm": [run(0.5), run(0.7, epochs=3)], "empty": [[]]}
    (drawing,) = overlay_figures(logs, looks(logs, "erm"), "OCT", 3)
    assert (drawing.name, drawing.title) == ("overlay-val-auc-3", "OCT: Validation AUC")
    assert drawing.alt == "Validation AUC over training: erm ends at 0.620."
    assert drawing.svg.count('class="tip"') == 2
    assert "<title>erm, epoch 1: 0.610</title>" in drawing.svg
    assert overlay_figures({"erm": []}, looks(["erm"], "erm")) == []
