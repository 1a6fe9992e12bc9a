"""What leaks: how well the latents of a run tell the domain of patients who were held back."""

from __future__ import annotations

from typing import Final

from medldr.evaluation.comparison.comparison import Size
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.leaks import ALONE, AT_RANDOM, DIFFERENCE, PROBE
from medldr.evaluation.representation.neighbours import ROBUSTNESS
from medldr.folders.evaluation_record import EvaluationRecord, LeaksRecord, SplitRecord
from medldr.folders.latents_record import ORIGINAL
from medldr.reporting.document import Drawing, Figures, Paragraph, Section
from medldr.reporting.figures import dots
from medldr.reporting.prose import section, sentence
from medldr.reporting.sections.run.verdict import too_few
from medldr.reporting.wording import called, shown_number, split_name, way

FOUND: Final = {
    "higher": "told beyond the class", "lower": "told less than from the class alone",
    "unclear": "no clear difference from the class alone",
}  # fmt: skip
"""What the probe does against one that knows the class alone."""


def leaks(scored: EvaluationRecord) -> Section | None:
    """Sentences and a figure; None where nothing was measured."""
    of = scored.leaks
    if of is None:
        return None
    held = {name: Estimate.of(number) for name, number in of.metrics.items()}
    unit = "item" if of.n_groups is None else "group"
    few = too_few(SplitRecord(n=of.n, n_groups=of.n_groups), unit)
    difference = held[DIFFERENCE]
    told = called(
        difference, PROBE, higher="latents tell more of the domain", lower="latents tell less of it"
    )
    text = sentence(
        "leaks_probe", fitted=of.fitted, size=Size(of.n, of.n_groups, unit=unit).counts,
        domains=of.domains, split=split_name(of.split).lower(),
        probe=shown_number(held[PROBE.name], PROBE), alone=shown_number(held[ALONE], PROBE),
        told=f"{few} to tell" if few else told,
    )  # fmt: skip
    trained = sentence("leaks_trained") if of.split == "train" else ""
    found = few or FOUND[way(difference)]
    said = Paragraph(" ".join(filter(None, (text, trained, _near(held, few)))))
    return section("run", "leaks", said, Figures.of(_figure(of, held)), found=found)


def _near(held: dict[str, Estimate], few: str) -> str:
    """Whether nearest neighbours share the class or the domain; empty where that is unknown."""
    index, level = held.get(ROBUSTNESS.name), held.get(AT_RANDOM, Estimate()).mean
    if index is None or index.mean is None or level is None:
        return ""
    ends = (None if end is None else end - level for end in (index.low, index.high))
    beyond = Estimate(index.mean - level, low=next(ends), high=next(ends))
    told = called(beyond, ROBUSTNESS, higher="they share the class", lower="they share the domain")
    return sentence(
        "leaks_near", index=shown_number(index, ROBUSTNESS), level=ROBUSTNESS.show(level),
        told=f"{few} to tell" if few else told,
    )  # fmt: skip


def _figure(of: LeaksRecord, held: dict[str, Estimate]) -> Drawing | None:
    names = {PROBE.name: "latents", ALONE: "class alone"}
    told = {title: {ORIGINAL: held[name]} for name, title in names.items()}
    panels = [dots.Panel(f"Which of {of.domains} domains?", PROBE, told, {})]
    if ROBUSTNESS.name in held:
        near, level = {"neighbours": {ORIGINAL: held[ROBUSTNESS.name]}}, held[AT_RANDOM]
        levels = {"neighbours": {dots.AT_RANDOM: level}}
        panels.append(dots.Panel("Class (1) or domain (0)?", ROBUSTNESS, near, levels))
    title = "What latents tell of the domain"
    return dots.dots_figure("leaks", panels, title=title, caption=sentence("leaks_figure"))
