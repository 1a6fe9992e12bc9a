"""Pooled gains, drawn."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.random_effects import random_effects
from medldr.reporting.results.gains import Effect, Pooled
from medldr.reporting.sections.analysis.gains import pooled_figure
from medldr.reporting.writers.paper import for_paper

pytestmark = pytest.mark.usefixtures("drawn")


def pooled_of(gains, over="data sets"):
    effects = [
        Effect(f"set {n}", Estimate(gain, low=gain - 0.1, high=gain + 0.1), 0.05, few_seeds=False)
        for n, gain in enumerate(gains)
    ]
    summary = random_effects(gains, [0.05] * len(gains))
    return Pooled("LatentDR", "ERM", "accuracy", over, tuple(effects), summary)


def test_gains_mean_and_prediction_are_drawn_and_said():
    drawing = pooled_figure(pooled_of([0.1, 0.0, 0.05]), 4)
    assert (drawing.error, drawing.name) == ("", "pooled_4")
    assert drawing.alt.startswith("Accuracy (%) minus that of ERM: set 0 +10.0 (+0.0 to +20.0); ")
    for text in ("set 2", "Random-effects mean", "Prediction interval"):
        assert f">{text}<" in drawing.svg
    assert "Random-effects mean +5.0 (−7.4 to +17.4)" in drawing.alt  # 4.303 * 5 / sqrt 3
    assert "where the effect in a new data set may lie" in drawing.caption
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


@pytest.mark.parametrize("over", ["data sets", "domains"])
def test_two_gains_have_no_prediction(over):
    drawing = pooled_figure(pooled_of([0.1, 0.0], over))
    assert "Prediction" not in drawing.svg
    assert "may lie" not in drawing.caption
    one = {"data sets": "data set", "domains": "held-out domain"}[over]
    assert f"One square per {one}" in drawing.caption


def test_what_was_not_pooled_is_not_drawn():
    assert pooled_figure(pooled_of([0.1])) is None
