"""How well linear probes predict class and domain from latents."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.representation.probes import LABELS, METRIC, Probed, Probes
from medldr.reporting.document import Drawing
from medldr.reporting.figures.latents.dots import ALONE, GUESSING, Panel, dots_figure


def probes_figure(found: Mapping[str, Probes]) -> Drawing | None:
    """Balanced accuracy of class and of domain; None where neither is predicted for any run.

    Args:
        found: Probes of runs by their heading.
    """
    of_class = {name: probed.of_class for name, probed in found.items()}
    of_domain = {name: probed.of_domain for name, probed in found.items()}
    panels = [
        panel
        for panel in (_panel("Class", of_class), _panel("Domain", of_domain))
        if panel is not None
    ]
    if not panels:
        return None
    alone = any(ALONE in levels for panel in panels for levels in panel.levels.values())
    return dots_figure(
        "probes",
        panels,
        METRIC,
        title="What a linear probe tells from the latents",
        caption="Each mark is a balanced accuracy with its 95% CI, on patients or slides (images, "
        "where these are unknown) that the probe was not fitted on. Broken line: guessing."
        + (" Dotted line: all that the class of an image tells of its domain." if alone else ""),
    )


def _panel(title: str, found: Mapping[str, Probed]) -> Panel | None:
    held = {heading: probed for heading, probed in found.items() if not probed.reason}
    levels: dict[str, dict[str, float]] = {}
    for heading, probed in held.items():
        chance, labels = probed.chance, probed.accuracy.get(LABELS)
        levels[heading] = {} if chance is None else {GUESSING: chance}
        if labels is not None and labels.mean is not None:
            levels[heading][ALONE] = labels.mean
    rows = {heading: probed.accuracy for heading, probed in held.items()}
    return Panel(title, rows, levels) if rows else None
