"""Matrices of distances between domains."""

import re

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import PAIR
from medldr.reporting.figures.matrix import centres_figure

PAIRS = {
    ("a", "b"): Estimate(0.5, low=0.25, high=0.75), ("a", "c"): Estimate(2.0),
    ("b", "c"): Estimate(reason="no class has enough images in both domains"),
}  # fmt: skip
FRAME = [
    {"run": "ERM", "of": PAIR, "domain": a, "other_domain": b, "held": held,
     "unseen": ("c",) if b == "c" else ()}
    for (a, b), held in PAIRS.items()
]  # fmt: skip


def test_numbers_are_shown_twice_and_the_shade_is_the_distance():
    drawing = centres_figure(FRAME)
    assert not drawing.error
    assert drawing.svg.count(">0.50</text>") == 2
    assert drawing.svg.count(">2.00</text>") == 2
    assert drawing.svg.count(">–</text>") == 5  # the diagonal and the undefined pair
    shades = re.findall(r"var\(--heat\); fill-opacity: ([0-9.]+)", drawing.svg)
    assert sorted(map(float, shades)) == pytest.approx([0.25, 0.25], abs=0.01)
    assert drawing.svg.count("fill: var(--heat)") == 4  # the largest is not transparent
    assert "<title>ERM: a and b 0.500 (0.250 to 0.750)</title>" in drawing.svg
    assert "b and c n/a" in drawing.alt


def test_unseen_domains_are_marked():
    drawing = centres_figure(FRAME)
    assert drawing.svg.count(">c *</text>") == 2
    assert "star" in drawing.caption
