"""Bars and marks of the nearest neighbours."""

import pytest

from medldr.evaluation.representation.neighbours import SAME_CLASS, neighbours
from medldr.evaluation.representation.options import Options
from medldr.reporting.figures.latents.neighbours import across_figure, shares_figure

OPTIONS = Options(neighbours=5, draws=50)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    runs = {"ERM": synthetic_latents(views=False, seed=1), "LatentDR": synthetic_latents()}
    return {run: neighbours(latents, OPTIONS) for run, latents in runs.items()}


def test_marks_say_their_numbers_and_chance(found):
    drawing = across_figure(found)
    assert not drawing.error
    share = found["LatentDR"].parts["training"].views["restored"][SAME_CLASS]
    shown = f"{100 * share.mean:.1f} ({100 * share.low:.1f} to {100 * share.high:.1f})"
    assert f"LatentDR, restored {shown}" in drawing.alt
    for text in ("Training images", "Test images of unseen domains", "neighbours at random"):
        assert f">{text}</text>" in drawing.svg


def test_without_domains_bars_are_of_class_alone(synthetic_latents):
    held = {"ERM": neighbours(synthetic_latents(domains=(), unseen=()), OPTIONS)}
    assert across_figure(held).title == "Neighbours of the same class"
    assert "domain" not in shares_figure(held, "other").alt
    assert shares_figure(held, "unseen") is None
    assert shares_figure({}, "training") is None
    assert across_figure({}) is None
