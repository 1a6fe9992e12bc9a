"""Values with intervals, one below the other."""

import pytest

from medldr.folders.evaluation_record import DomainRecord
from medldr.reporting.figures.forest import Whisker, domain_figure, forest_figure


def test_nothing_to_draw_is_no_figure():
    assert forest_figure("f", [], title="", caption="", xlabel="") is None
    assert domain_figure({"a": DomainRecord(metrics={"accuracy": {"value": None}})}) is None


def test_domains_are_drawn_from_the_highest_to_the_lowest_accuracy():
    domains = {
        name: DomainRecord(seen=name != "c", metrics={"accuracy": {"value": value}})
        for name, value in (("a", 0.5), ("b", 0.75), ("c", 0.25))
    }
    drawing = domain_figure(domains)
    assert drawing.alt == "Accuracy (%): b 75; a 50; c 25."
    assert "unseen" in drawing.svg


@pytest.mark.parametrize("low", [None, -0.1])
def test_a_forest_shows_values_with_and_without_intervals(low):
    rows = [Whisker("a", 0.25, low, 0.5)]
    drawing = forest_figure("f", rows, title="", caption="", xlabel="x", factor=100, reference="m")
    assert not drawing.error
    assert drawing.alt == ("x: a 25." if low is None else "x: a 25 (-10 to 50).")


def test_an_end_at_zero_is_an_end():
    drawing = forest_figure("f", [Whisker("a", 0.25, 0.0, 0.5)], title="", caption="", xlabel="x")
    assert drawing.alt == "x: a 0.25 (0 to 0.5)."
    assert "<title>a 0.25 (0 to 0.5)</title>" in drawing.svg
