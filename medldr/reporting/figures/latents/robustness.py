"""The robustness index of runs."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.representation.robustness import ROBUSTNESS, Robustness
from medldr.reporting.document import Drawing
from medldr.reporting.figures.latents.dots import AT_RANDOM, Panel, dots_figure

PARTS = {"training": "Training images", "unseen": "Test images of unseen domains"}


def robustness_figure(found: Mapping[str, Robustness]) -> Drawing | None:
    """The index of each run and kind of latents; None where none is defined.

    Args:
        found: By heading of the run.
    """
    panels = [
        Panel(
            title,
            {heading: part.views for heading, part in parts.items()},
            {heading: {AT_RANDOM: part.chance} for heading, part in parts.items()},
        )
        for name, title in PARTS.items()
        if (parts := {h: run.parts[name] for h, run in found.items() if name in run.parts})
    ]
    return dots_figure(
        "robustness", panels, ROBUSTNESS, title="Robustness index",
        caption="0: the nearest neighbours follow the domain; 1: they follow the class. Each mark "
        "has its 95% CI; broken line: neighbours drawn at random.",
    )  # fmt: skip
