"""Bars and marks of the nearest neighbours."""

import pytest

from medldr.evaluation.representation.neighbours import SAME_CLASS, neighbours
from medldr.evaluation.representation.options import Options
from medldr.reporting.figures.for_paper import for_paper
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


def test_bars_add_up_and_end_with_chance(found):
    only = {"LatentDR": found["LatentDR"]}
    drawing = shares_figure(only, "unseen")
    assert not drawing.error
    assert drawing.name == "neighbours_unseen"
    bars = drawing.alt.removesuffix(".").split("; ")
    assert [bar.split(":")[0] for bar in bars] == [
        "LatentDR, original", "LatentDR, degraded", "LatentDR, restored", "drawn at random"
    ]  # fmt: skip
    for bar in bars:
        numbers = [float(word.strip("%,")) for word in bar.split() if word.strip(",").endswith("%")]
        assert sum(numbers) == pytest.approx(100, abs=0.21)
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_chance_of_runs_that_differ_is_no_bar(found):
    assert "drawn at random" not in shares_figure(found, "training").alt


def test_without_domains_bars_are_of_class_alone(synthetic_latents):
    held = {"ERM": neighbours(synthetic_latents(domains=(), unseen=()), OPTIONS)}
    assert across_figure(held).title == "Neighbours of the same class"
    assert "domain" not in shares_figure(held, "other").alt
    assert shares_figure(held, "unseen") is None
    assert shares_figure({}, "training") is None
    assert across_figure({}) is None
