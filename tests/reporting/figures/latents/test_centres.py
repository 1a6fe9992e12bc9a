"""Matrices of distances between domains."""

import re

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import Centres
from medldr.reporting.figures.latents.centres import centres_figure


def made(scale=1.0):
    pairs = {
        ("a", "b"): Estimate(0.5 * scale, low=0.25 * scale, high=0.75 * scale),
        ("a", "c"): Estimate(2.0 * scale),
        ("b", "c"): Estimate(reason="no class has enough images in both domains"),
    }
    held = Estimate(1.25 * scale)
    names = ("a", "b", "c")
    near = {"c": ("a", pairs["a", "c"])}
    return Centres(names, frozenset("c"), dict.fromkeys(names, 9), pairs, held, None, near)


def test_numbers_are_shown_twice_and_the_shade_is_the_distance():
    drawing = centres_figure({"ERM": made()})
    assert not drawing.error
    assert drawing.svg.count(">0.50</text>") == 2
    assert drawing.svg.count(">2.00</text>") == 2
    assert drawing.svg.count(">–</text>") == 5  # the diagonal and the undefined pair
    shades = re.findall(r"var\(--heat\); fill-opacity: ([0-9.]+)", drawing.svg)
    assert sorted(map(float, shades)) == pytest.approx([0.25, 0.25], abs=0.01)
    assert drawing.svg.count("fill: var(--heat)") == 4  # the largest is not transparent
    assert "<title>ERM: a and b, 0.500 (0.250 to 0.750)</title>" in drawing.svg
    assert "b and c undefined" in drawing.alt


def test_unseen_domains_are_marked():
    drawing = centres_figure({"ERM": made()})
    assert drawing.svg.count(">c *</text>") == 2
    assert "star" in drawing.caption
