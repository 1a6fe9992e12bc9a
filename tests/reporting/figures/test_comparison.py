"""Figures of several methods: every one looks different, and names are unique on a page."""

import pytest

from medldr.reporting.figures.comparison import difference_figure, overlay_figures


@pytest.fixture
def curves():
    rows = [{"epoch": epoch, "step": epoch, "val/auc": 0.5 + epoch / 10} for epoch in range(5)]
    return {f"method {n}": [rows, rows] for n in range(11)}


def test_eleven_methods_are_drawn_in_eleven_ways(curves, monkeypatch):
    drawn = []

    class Axes:
        def plot(self, x, y, dash, *, color, label, **_):
            drawn.append((dash, color, label))

        def __getattr__(self, name):
            return lambda *_, **__: self

    class Figure:
        def add_subplot(self):
            return Axes()

    monkeypatch.setattr("medldr.reporting.figures.comparison.legend_below", lambda *_, **__: None)
    monkeypatch.setattr(
        "medldr.reporting.figures.drawing._render",
        lambda name, paint, size: paint(Figure()) or name,
    )
    (drawing,) = overlay_figures(curves, "OCT", 3)
    assert (drawing.name, drawing.title) == ("overlay-val-auc-3", "OCT: Validation AUC")
    assert len(drawn) == 11  # so many runs are shown by one mean line per method
    styles = {(dash, color) for dash, color, label in drawn if label}
    assert len(styles) == 11


def test_a_column_has_figures_of_its_own_name_without_single_domains(whole):
    result = whole.columns[0].result
    alone = difference_figure(result, "auc")
    column = difference_figure(result, "auc", "Derma", 1)
    assert alone.name == "difference-auc"
    assert column.name == "difference-auc-1"
    assert column.title == "Derma, AUC: difference to ERM"
    assert "Mixup (oracle), Test, n = 60" in alone.alt
    assert "Mixup (oracle) " in column.alt
    assert "n = 60" not in column.alt
    assert column.error == ""
