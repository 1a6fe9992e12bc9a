"""The most confident mistakes as small pictures, without anything that names a patient."""

from __future__ import annotations

from medldr.config.sections import section as settings_of
from medldr.folders.mistakes_record import Mistake
from medldr.folders.privacy import hide_ids
from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph, Picture, Pictures, Section
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles
from medldr.reporting.wording import split_name


def mistakes(files: RunFiles) -> Section | None:
    """The pictures, or that they were switched off; None for a run that has none."""
    found = files.mistakes
    if found is None:
        off = settings_of(files.config, "machine").get("thumbnails") is False
        return section("run", "mistakes_off", Paragraph(sentence("no_thumbnails")) if off else None)
    if not found.items:
        return section("run", "mistakes_off", Paragraph(sentence("no_mistakes")))
    pictures = [_picture(mistake, files.ids) for mistake in found.items]
    counts = sentence(
        "mistakes", split=split_name(found.split), wrong=f"{found.wrong:,}", n=f"{found.n:,}",
        shown=len(pictures),
    )  # fmt: skip
    slices = Paragraph(sentence("slices") if found.slices else "")
    return section("run", "mistakes", Paragraph(counts), slices, Pictures(pictures))


def _picture(mistake: Mistake, ids: frozenset[str]) -> Picture:
    confidence = metric_facts("accuracy").with_unit(mistake.confidence)
    lines = [
        f"true: {mistake.truth}",
        f"predicted: {mistake.predicted}",
        f"confidence: {confidence}",
        *([f"domain: {mistake.domain}"] if mistake.domain else []),
    ]
    alt = f"An image of class {mistake.truth}, predicted as {mistake.predicted} ({confidence})"
    return Picture(mistake.png, [hide_ids(line, ids) for line in lines], hide_ids(alt, ids))
