"""Gains of a method, drawn."""

import pytest

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.results.gains import Gain
from medldr.reporting.sections.analysis.gains import gains_figure, place_name

pytestmark = pytest.mark.usefixtures("drawn")


def gain(mean, domain="d", *, data="pacs", unseen=True, held_out="", split="test"):
    estimate = Estimate(mean, low=mean - 0.02, high=mean + 0.02)
    difference = Difference(split, domain, "accuracy", "LatentDR", "ERM", estimate, seeds=3)
    return Gain(data, domain, held_out, split, unseen, "LatentDR", difference)


def test_data_without_domains_have_no_legend_of_them():
    svg = gains_figure([gain(0.1, None, unseen=None)], "ERM", "ece").svg
    assert ">unseen<" not in svg
    assert ">seen in training<" not in svg
    assert gains_figure([], "ERM", "ece") is None


@pytest.mark.parametrize(
    ("place", "several", "name"),
    [
        (gain(0), False, "d"),
        (gain(0), True, "pacs: d"),
        (gain(0, unseen=False), False, "d (seen)"),
        (gain(0, None, unseen=False, held_out="x"), True, "pacs: seen domains, x held out"),
        (gain(0, None, unseen=None), False, "all images"),
        (gain(0, None, unseen=None, split="id_test"), False, "all images, test, seen domains"),
    ],
)
def test_names_of_places(place, several, name):
    assert place_name(place, several=several) == name
