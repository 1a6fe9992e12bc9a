"""The paper's first figure: its panels, their points and its caption."""

import re
from dataclasses import replace

import numpy as np

from medldr.evaluation.representation.queries import Queries, Scene
from medldr.reporting.figures.maps import queries_figure
from medldr.reporting.writers.paper import for_paper


def scene(queries, times=1, ground=60, names=(), views=("degraded", "restored"), seed=0):
    rng = np.random.default_rng(seed)
    kind = np.array([names[i % len(names)] if names else "" for i in range(ground)])
    moved = {name: rng.normal(size=(queries * times, 2)) for name in views}
    return Scene(rng.normal(size=(ground, 2)), kind, names, rng.normal(size=(queries, 2)), moved)


def found(**more):
    given = {
        "batch": scene(32), "inserted": scene(6, 32, names=("x", "y")), "batches": 32,
        "one_class": scene(24, names=("a", "b")), "class_name": "x", "perplexity": (30.0, 30.0),
        "left_out": 0, "moved": (),
    }  # fmt: skip
    return Queries(**given | more)


def marks(svg):
    return sum(part.count("<use") for part in re.findall(r"<g clip-path.*?</g>", svg, flags=re.S))


def test_there_are_three_panels_with_all_points():
    drawing = queries_figure("LatentDR (SA)", found(), 2)
    assert not drawing.error
    assert drawing.name == "queries_2"
    for title in ("A: a batch of 32 queries", "B: 6 queries, each in 32 batches", "C: x only"):
        assert f">{title}<" in drawing.svg
    for text in ("query", "degraded", "restored", "training image", "class: x", "domain: b"):
        assert f">{text}<" in drawing.svg
    assert marks(drawing.svg) == 3 * 60 + 32 * 3 + 6 * (1 + 2 * 32) + 24 * 3
    assert "(perplexity 30; 500 iterations)" in drawing.caption
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_markers_are_those_of_the_paper():
    """A red star, a blue cross and a green triangle: as in all figures of latents."""
    only = found(inserted=None, one_class=None, batch=scene(30))
    svg = queries_figure("LatentDR", only, 1).svg
    styles = re.findall(r'<g clip-path="[^"]*" style="([^"]*)">((?:<use[^>]*>)*)', svg)
    counted = [(re.search(r"var\(--(\w+)\)", style)[1], body.count("<use"))
               for style, body in styles]  # fmt: skip
    assert counted == [("muted", 60), ("green", 30), ("blue", 30), ("red", 30)]


def test_the_caption_says_what_was_changed_and_left_out():
    low = replace(found(), perplexity=(3.5, 30.0), left_out=4)
    caption = queries_figure("LatentDR", low, 1).caption
    assert "perplexity 3.5 and 30;" in caption
    assert "4 training images are left out, because their latents are not finite." in caption
