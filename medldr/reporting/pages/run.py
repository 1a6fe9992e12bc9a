"""The page of one run, made from the files of its folder and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.document import Document, Drawing, Figures, Paragraph, Section
from medldr.reporting.prose import Parts, answered, assemble, section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline
from medldr.reporting.sections.published import run_published
from medldr.reporting.sections.run import about, tables
from medldr.reporting.sections.run.clinical import clinical
from medldr.reporting.sections.run.drawn import (
    confusion_figure,
    domain_roc_figure,
    precision_recall_figure,
    reliability_figure,
    roc_curves,
    roc_figure,
)
from medldr.reporting.sections.run.leaks import leaks
from medldr.reporting.sections.run.parts import subgroups, where
from medldr.reporting.sections.run.result import first_figure, result
from medldr.reporting.sections.run.verdict import banners, verdict
from medldr.reporting.sections.training import curves


def run_page(files: RunFiles) -> Document:
    """The page of one run: its verdict, one figure, one table, and the rest folded."""
    seed = files.config.get("seed", files.facts.get("seed", "?"))
    network = about.model_text(files.config, files.record)
    return Document(
        f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}",
        "medldr · report of one run",
        f"{network} · one network, seed {seed} · {files.name}",
        banners(files),
        _sections(files),
        answered(lambda: verdict(files)),
    )


def _sections(files: RunFiles) -> list[Section]:
    """From top to bottom; what needs an evaluation is left out without one."""
    scored = files.evaluation
    first: Parts = [("result", lambda: result(scored)), ("notes", lambda: about.notes(files))]
    last: Parts = [
        ("curves", lambda: training(files)),
        ("mistakes", lambda: about.mistakes(files)),
        ("settings", lambda: about.settings(files)),
        ("card", lambda: about.card(files)),
        ("provenance", lambda: about.provenance(files)),
    ]
    if scored is None:
        return assemble("run", [*first, *last])
    numbers: Parts = [
        ("clinical", lambda: clinical(files)),
        ("domains", lambda: tables.domains(scored)),
        ("leaks", lambda: leaks(scored)),
        ("subgroups", lambda: subgroups(files)),
        ("classes", lambda: tables.classes(scored)),
        ("judging", lambda: judging(scored)),
        ("splits", lambda: tables.splits(scored)),
        ("rules", lambda: tables.rules(files)),
        ("recalibration", lambda: tables.recalibration(scored)),
        ("published", lambda: section("run", "published", run_published(files))),
    ]
    return assemble("run", [*first, *numbers, *last])


def judging(scored: EvaluationRecord) -> Section | None:
    """Confusion matrix, ROC, precision-recall and reliability, but what the first screen shows.

    Returns:
        None where none can be drawn.
    """
    split = headline(scored)
    if split is None:
        return None
    single, names = scored.task != "multi-label", scored.class_names
    shown = first_figure(scored)[0]
    makers: dict[str, Callable[[], Drawing | None]] = {
        "confusion": lambda: confusion_figure(split, names) if single else None,
        "roc": lambda: roc_figure(split),
        "roc-domains": lambda: domain_roc_figure(split),
        "precision-recall": lambda: precision_recall_figure(split),
        "reliability": lambda: reliability_figure(split, scored),
    }
    figures = Figures.of(*(make() for name, make in makers.items() if name != shown))
    table = None if single or not split.confusion else tables.label_table(split, names)
    auc = split.metrics.get("auc")
    reason = (auc and auc.reason) or "it is undefined here"
    absent = Paragraph("" if roc_curves(split) else f"There is no ROC curve: {reason}.")
    blocks = [where(scored), table, absent, figures]
    return section("run", "judging", *blocks) if table or figures.drawings else None


def training(files: RunFiles) -> Section | None:
    """Learning curves and a method's own check of its latents, or that none were logged."""
    chosen = None if files.evaluation is None else files.evaluation.selection
    drawings = curves("learning", files.log, chosen)
    latents = curves("latents", files.log, chosen, _chance(files))
    none = Paragraph("" if drawings else sentence("no_curves"))
    said = Paragraph(sentence("of_latents") if latents else "")
    return section("run", "curves", none, Figures(drawings), said, Figures(latents))


def _chance(files: RunFiles) -> float | None:
    """Training accuracy of always naming the most frequent class; None where it is unknown."""
    spec = None if files.record is None else files.record.spec
    labels = files.evaluation is not None and files.evaluation.task == "multi-label"
    if spec is None or labels or sum(spec.class_counts) <= 0:
        return None
    return max(spec.class_counts) / sum(spec.class_counts)
