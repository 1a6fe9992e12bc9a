"""How training went, and what the method made of latents meanwhile."""

from __future__ import annotations

from medldr.folders.run_record import Selection
from medldr.reporting.document import Figures, Paragraph, Section
from medldr.reporting.figures.curves import latent_curves, learning_curves
from medldr.reporting.read.run import RunFiles


def curves(files: RunFiles) -> Section:
    """Learning curves, or that none were logged."""
    drawings = learning_curves(files.log, _selection(files))
    nothing = Paragraph("No evaluation was logged while training, so there are no curves.")
    block = Figures(drawings) if drawings else nothing
    return Section("curves", "Learning curves", "Curves", [block])


def latents(files: RunFiles) -> Section | None:
    """A method's own check of its latents; None where it logged none."""
    drawings = latent_curves(files.log, _selection(files), _guessing(files))
    if not drawings:
        return None
    text = (
        "The method classifies further latents in training: LatentDR degrades those of the images "
        "and restores them, BatchFormer lets them attend to their batch. These curves are the "
        "direct check of what that does."
    )
    found = Section("latents", "What the method makes of latents", "Latents")
    found.add(Paragraph(text), Figures(drawings))
    return found


def _selection(files: RunFiles) -> Selection | None:
    return None if files.evaluation is None else files.evaluation.selection


def _guessing(files: RunFiles) -> float | None:
    """Training accuracy of always naming the most frequent class; None where it is unknown."""
    spec = None if files.record is None else files.record.spec
    labels = files.evaluation is not None and files.evaluation.task == "multi-label"
    if spec is None or labels or sum(spec.class_counts) <= 0:
        return None
    return max(spec.class_counts) / sum(spec.class_counts)
