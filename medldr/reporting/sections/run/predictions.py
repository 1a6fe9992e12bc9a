"""Figures of a run: how training went, and how good its predictions are."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.folders.run_record import Selection
from medldr.reporting.document import Figures, Paragraph, Section
from medldr.reporting.figures import curves as drawn
from medldr.reporting.figures.confusion import confusion_figures
from medldr.reporting.figures.precision_recall import precision_recall_figure
from medldr.reporting.figures.reliability import reliability_figures
from medldr.reporting.figures.roc import domain_roc_figure, roc_curves, roc_figure
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline
from medldr.reporting.sections.run.numbers import where
from medldr.reporting.table import Cell, Row, Table


def curves(files: RunFiles) -> Section | None:
    """Learning curves, or that none were logged."""
    drawings = drawn.curves(drawn.LEARNING, files.log, _selection(files))
    shown = Figures(drawings) if drawings else Paragraph(sentence("no_curves"))
    return section("run", "curves", shown)


def latents(files: RunFiles) -> Section | None:
    """A method's own check of its latents; None where it logged none."""
    drawings = drawn.curves(drawn.OF_LATENTS, files.log, _selection(files), _chance(files))
    return section("run", "latents", Figures(drawings))


def _selection(files: RunFiles) -> Selection | None:
    return None if files.evaluation is None else files.evaluation.selection


def _chance(files: RunFiles) -> float | None:
    """Training accuracy of always naming the most frequent class; None where it is unknown."""
    spec = None if files.record is None else files.record.spec
    labels = files.evaluation is not None and files.evaluation.task == "multi-label"
    if spec is None or labels or sum(spec.class_counts) <= 0:
        return None
    return max(spec.class_counts) / sum(spec.class_counts)


def confusion(scored: EvaluationRecord) -> Section | None:
    """What was taken for what; None where that was not counted."""
    split = headline(scored)
    if split is None or not split.confusion:
        return None
    if scored.task == "multi-label":
        table = label_table(split, scored.class_names)
        return section("run", "confusion", where(scored), table)
    drawings = confusion_figures(split.confusion, scored.class_names)
    return section("run", "confusion", where(scored), Figures(drawings))


def label_table(split: SplitRecord, names: Sequence[str]) -> Table:
    """Right and wrong decisions of each label of a multi-label task.

    Args:
        split: Its ``L x 2 x 2`` counts have the truth (absent, present) in rows.
        names: One per label.
    """
    at = "its threshold" if split.confusion_at_thresholds else "a probability threshold of 0.5"
    table = Table(
        f"Decisions for each label at {at}",
        ["Label", "True positives", "False negatives", "False positives", "True negatives"],
    )
    for name, ((right, alarm), (missed, found)) in zip(names, split.decided or (), strict=True):
        table.rows.append(Row(name, [Cell(n) for n in (found, missed, alarm, right)]))
    return table


def judging(scored: EvaluationRecord) -> Section | None:
    """ROC and precision-recall curves and reliability; None where none can be drawn."""
    split = headline(scored)
    if split is None:
        return None
    curves = (roc_figure(split), domain_roc_figure(split), precision_recall_figure(split))
    drawings = [drawing for drawing in curves if drawing is not None]
    drawings += reliability_figures(split, scored)
    if not drawings:
        return None
    auc = split.metrics.get("auc")
    reason = (auc and auc.reason) or "it is undefined here"
    absent = "" if roc_curves(split) else f"There is no ROC curve: {reason}."
    return section("run", "judging", where(scored), Paragraph(absent), Figures(drawings))
