"""Matrices of distances between domains."""

import re

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import Centres
from medldr.reporting.figures.for_paper import for_paper
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


def test_all_runs_have_one_scale_and_six_are_shown():
    drawing = centres_figure({f"run {n}": made(n) for n in range(1, 9)})
    assert len(re.findall(r">run \d</text>", drawing.svg)) == 6
    shades = re.findall(r"var\(--heat\); fill-opacity: ([0-9.]+)", drawing.svg)
    assert min(map(float, shades)) == pytest.approx(0.5 / 12, abs=0.01)


def test_a_negative_distance_is_not_shaded():
    drawing = centres_figure({"ERM": made(-1.0)})
    assert not drawing.error
    assert ">−0.50</text>" in drawing.svg
    assert "fill: var(--heat)" not in drawing.svg
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_many_domains_have_no_numbers():
    names = tuple(f"hospital {n:02d}" for n in range(30))
    pairs = {(names[i], names[j]): Estimate(1.0) for i in range(30) for j in range(i + 1, 30)}
    held = Centres(names, frozenset(), dict.fromkeys(names, 9), pairs, Estimate(1.0), None, {})
    drawing = centres_figure({"ERM": held})
    assert not drawing.error
    assert ">1.00</text>" not in drawing.svg
    assert drawing.svg.count(">hospital") == 30  # every second name, on both sides
    assert "star" not in drawing.caption
    assert centres_figure({}) is None
