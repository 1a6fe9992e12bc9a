"""Values with intervals, one below the other."""

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


def test_an_end_at_zero_is_an_end():
    drawing = forest_figure("f", [Whisker("a", 0.25, 0.0, 0.5)], title="", caption="", xlabel="x")
    assert drawing.alt == "x: a 0.25 (0 to 0.5)."
    assert "<title>a 0.25 (0 to 0.5)</title>" in drawing.svg
