"""What a run's own classifier makes of z, z_d and z_r, by class and by domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.judged import BALANCED, RECALL, Classified
from medldr.folders.latents_record import ORIGINAL
from medldr.metric import Metric
from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import shorten
from medldr.reporting.figures.latents.dots import GUESSING, Panel, dots_figure
from medldr.types import SPLIT_TITLES

MOST_CLASSES: Final = 12
"""Classes in one figure, and in a table; the csv file has all."""
MOST_RUNS: Final = 6
"""Panels of one figure; the tables have all runs."""
READING: Final = "with its 95% CI. D should move marks towards guessing, R back again."


def operators_figures(found: Mapping[str, Classified]) -> list[Drawing]:
    """Recall by class and balanced accuracy by domain, of runs that degrade or restore.

    Args:
        found: Decisions of runs by their heading.
    """
    shown = {
        heading: judged
        for heading, judged in found.items()
        if any(view != ORIGINAL for view in judged.last.views)
    }
    drawings = (_by_class(shown), _by_domain(shown))
    return [drawing for drawing in drawings if drawing is not None]


def shown_classes(judged: Classified) -> list[int]:
    """Columns of the classes that there is room for: the most frequent in training."""
    shares = judged.mix or (0.0,) * len(judged.class_names)
    return sorted(sorted(range(len(shares)), key=lambda k: -shares[k])[:MOST_CLASSES])


def _by_class(found: Mapping[str, Classified]) -> Drawing | None:
    panels, left_out = [], 0
    for heading, judged in found.items():
        kept = shown_classes(judged)
        left_out = max(left_out, len(judged.class_names) - len(kept))
        rows = {
            judged.class_names[k]: {v: of.by_class[k] for v, of in judged.last.views.items()}
            for k in kept
        }
        panels.append(Panel(heading, rows, {}))
    split = _split(found)
    return _figure(
        "operators_class",
        panels,
        RECALL,
        title=f"The run’s own classifier, by class ({split})",
        caption="Each mark is the share of a class that is recognised, with its 95% CI; a class "
        "that degraded latents are mostly taken for keeps a high one."
        + (f" Shown are the {MOST_CLASSES} most frequent classes." if left_out else ""),
    )


def _by_domain(found: Mapping[str, Classified]) -> Drawing | None:
    panels = []
    for heading, judged in found.items():
        rows: dict[str, dict[str, Estimate]] = {}
        levels = {}
        for part in judged.parts:
            if part.split == "train":
                continue
            for domain in next(iter(part.views.values())).by_domain:
                label = f"{shorten(domain, 17)} (unseen)" if part.unseen else domain
                rows[label] = {v: of.by_domain[domain] for v, of in part.views.items()}
                levels[label] = {GUESSING: part.chance}
        panels.append(Panel(heading, rows, levels))
    if max((len(panel.rows) for panel in panels), default=0) < 2:
        return None  # a single domain is the whole split
    return _figure(
        "operators_domain",
        panels,
        BALANCED,
        title="The run’s own classifier, by domain",
        caption="Each mark is the balanced accuracy on images that training has not used, "
        + READING,
    )


def _figure(
    name: str, panels: list[Panel], metric: Metric, *, title: str, caption: str
) -> Drawing | None:
    if not panels:
        return None
    if len(panels) > MOST_RUNS:
        caption += f" Shown are the first {MOST_RUNS} of {len(panels)} runs."
    return dots_figure(name, panels[:MOST_RUNS], metric, title=title, caption=caption, same=True)


def _split(found: Mapping[str, Classified]) -> str:
    """Which split the last parts are, in words."""
    splits = dict.fromkeys(judged.last.split for judged in found.values())
    return ", ".join(SPLIT_TITLES[split].lower() for split in splits)
